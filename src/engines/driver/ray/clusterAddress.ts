import { homedir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { readNamed } from '../../../files/safeFile.ts';

export interface Cluster {
	/** Base URL without a trailing slash, such as `http://127.0.0.1:8265`. */
	readonly address: string;
	/** Headers sent only to this address. */
	readonly headers: Readonly<Record<string, string>>;
	/** Whether credentials exist but were withheld because they belong to another address. */
	readonly withheld?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const example = 'such as http://127.0.0.1:8265';

/**
 * Returns the dashboard URL for job submission: `ray.address` from the recipe, falling back to RAY_ADDRESS.
 * @throws `missing` if neither is set, or `invalid` if the address is not a dashboard
 */
export function clusterAddress(fromRecipe: string | null, environment: Environment): string {
	const written = fromRecipe ?? environment.RAY_ADDRESS?.trim() ?? '';
	const source = fromRecipe === null ? 'RAY_ADDRESS' : '"ray.address" in the recipe';
	if (written === '') {
		throw new Failure(
			'missing',
			'No Ray cluster address: the recipe does not set one, and RAY_ADDRESS is not set.',
			`Set "ray": {"address": ...} to the dashboard address of the cluster, ${example}.`,
		);
	}
	const refuse = (why: string) =>
		new Failure(
			'invalid',
			`${source} is "${written}": ${why}.`,
			`Use the dashboard address of the cluster, ${example}.`,
		);
	if (written === 'auto' || written === 'local')
		throw refuse('jobs are submitted through a dashboard, so an address is required');
	if (written.startsWith('ray://')) throw refuse('this is the Ray client address, not the dashboard address');
	// "head:8265" would be parsed as a URL with the scheme "head".
	if (/^[\w.-]+:\d+$/.test(written)) throw refuse('this is a host and port, not an HTTP address');
	const url = URL.canParse(written) ? new URL(written) : null;
	if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
		throw refuse('this is not an HTTP address');
	if (url.username !== '' || url.password !== '') throw refuse('it contains a password; set RAY_AUTH_TOKEN instead');
	if (url.search !== '' || url.hash !== '') throw refuse('it contains a query string');
	return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/**
 * Returns the run's cluster with its credentials. Tokens and headers from the environment are meant for the cluster
 * specified there. An address that appears only in a recipe receives none of them.
 * @throws like `clusterAddress` and `clusterHeaders`
 */
export async function clusterOf(fromRecipe: string | null, environment: Environment): Promise<Cluster> {
	const address = clusterAddress(fromRecipe, environment);
	const named = environment.RAY_ADDRESS?.trim() ?? '';
	const own = fromRecipe === null || (URL.canParse(named) && new URL(named).origin === new URL(address).origin);
	return own
		? { address, headers: await clusterHeaders(environment) }
		: { address, headers: {}, ...(holdsCredentials(environment) ? { withheld: true } : {}) };
}

function holdsCredentials(environment: Environment): boolean {
	return ['RAY_JOB_HEADERS', 'RAY_AUTH_TOKEN', 'RAY_AUTH_TOKEN_PATH'].some((name) => environment[name]);
}

/**
 * Returns the same headers as Ray's command line: RAY_JOB_HEADERS (a JSON object), plus the token from RAY_AUTH_TOKEN,
 * RAY_AUTH_TOKEN_PATH or, with RAY_AUTH_MODE=token, ~/.ray/auth_token.
 */
export async function clusterHeaders(environment: Environment): Promise<Record<string, string>> {
	const headers: Record<string, string> = {};
	if (environment.RAY_JOB_HEADERS) {
		let given: unknown;
		try {
			given = JSON.parse(environment.RAY_JOB_HEADERS);
		} catch {
			given = null;
		}
		if (typeof given !== 'object' || given === null || Array.isArray(given)) {
			throw new Failure('invalid', 'RAY_JOB_HEADERS is not a JSON object of headers.');
		}
		for (const [name, value] of Object.entries(given)) headers[name] = String(value);
	}
	const token = await clusterToken(environment);
	if (token !== '' && !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) {
		headers.Authorization = `Bearer ${token}`;
	}
	return headers;
}

async function clusterToken(environment: Environment): Promise<string> {
	if (environment.RAY_AUTH_TOKEN) return environment.RAY_AUTH_TOKEN.trim();
	const path =
		environment.RAY_AUTH_TOKEN_PATH ||
		(environment.RAY_AUTH_MODE === 'token' ? join(homedir(), '.ray', 'auth_token') : '');
	if (path === '') return '';
	const text = await readNamed(path, { largest: 1 << 16 }).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the Ray cluster token ${path}`);
	});
	return text.toString('utf8').trim();
}
