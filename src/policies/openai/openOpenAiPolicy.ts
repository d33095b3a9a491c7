import { Failure } from '../../base/failure.ts';
import { apiKeysOf, apiKeysVariable } from '../../rpc/http/apiKeys.ts';
import type { PolicyContext } from '../openedPolicy.ts';
import { policyKeyName } from '../policyKey.ts';
import type { OpenAiAbilities } from './abilities.ts';
import { OpenAiPolicy } from './openAiPolicy.ts';
import { OpenAiServer, Refused } from './openAiServer.ts';
import { probeServer } from './probeServer.ts';
import type { OpenAiSpec } from './requestBody.ts';

/** Detected capabilities, keyed by everything they depend on. Each server is probed once per process. */
const known = new Map<string, Promise<OpenAiAbilities>>();
const maxKnown = 200;

type ServerContext = Pick<PolicyContext, 'keys' | 'environment' | 'keyVariables' | 'signal'>;

/**
 * Opens a model on an OpenAI-compatible server after probing it. Fails with the same errors as `probeServer` and
 * `serverOf`.
 */
export async function openOpenAiPolicy(spec: OpenAiSpec, context: ServerContext, again = false): Promise<OpenAiPolicy> {
	const server = serverOf(spec, context);
	const { baseUrl, model, api, system, template, extra, abilities: given } = spec;
	const key = JSON.stringify([
		addressOf(baseUrl),
		model,
		api,
		system,
		template,
		extra,
		given,
		keyOf(spec, context) !== null,
	]);
	const signal = context.signal ?? new AbortController().signal;
	let abilities = again ? undefined : await known.get(key)?.catch(() => undefined);
	if (abilities === undefined) {
		const found = probeServer(server, spec, signal);
		known.delete(key);
		known.set(key, found);
		for (const old of known.keys()) if (known.size > maxKnown) known.delete(old);
		found.catch(() => {
			if (known.get(key) === found) known.delete(key);
		});
		abilities = await found;
	}
	return new OpenAiPolicy(spec, server, abilities);
}

/** Lists the server's models for setup. Fails with the same errors as `OpenAiServer.models`. */
export async function listModels(spec: Omit<OpenAiSpec, 'model'>, context: ServerContext): Promise<string[]> {
	const server = serverOf({ ...spec, model: '' }, context);
	try {
		return await server.models(context.signal ?? new AbortController().signal);
	} catch (error) {
		// Some servers have no model list, so the user has to specify the model.
		if (error instanceof Refused && error.status === 404) {
			throw new Failure(
				'unsupported',
				`${server.origin} does not provide a model list.`,
				'Specify the model with --model NAME.',
			);
		}
		throw error;
	}
}

/** Fails with `invalid` for a malformed address, or `missing` for a variable without a key. */
function serverOf(spec: OpenAiSpec, context: ServerContext): OpenAiServer {
	const { parallel = 8, timeoutSeconds = 120, retries = 4, requestsPerMinute } = spec;
	return new OpenAiServer({
		baseUrl: addressOf(spec.baseUrl),
		key: keyOf(spec, context),
		parallel,
		timeoutSeconds,
		retries,
		...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
	});
}

/** Removes a trailing slash, or an endpoint path that is easily copied along with the URL. */
function addressOf(baseUrl: string): string {
	let url: URL;
	try {
		url = new URL(baseUrl);
	} catch {
		throw new Failure('invalid', `"${baseUrl}" is not a URL.`, 'Use the format http://127.0.0.1:8000/v1.');
	}
	if (url.protocol !== 'http:' && url.protocol !== 'https:') {
		throw new Failure(
			'invalid',
			`"${baseUrl}" is not an http or https URL.`,
			'Use the format http://127.0.0.1:8000/v1.',
		);
	}
	if (url.username !== '' || url.password !== '') {
		throw new Failure('invalid', 'The policy URL contains a user name or password.', 'Set the API key instead.');
	}
	if (url.search !== '' || url.hash !== '') {
		throw new Failure('invalid', `"${baseUrl}" contains a query string.`, 'Remove everything after the path.');
	}
	return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/(?:chat\/)?completions$/, '');
}

/** Returns the policy's own key, the key from the variable it names, or the key for its origin, in that order. */
function keyOf(spec: OpenAiSpec, { keys, environment = {}, keyVariables = [] }: ServerContext): string | null {
	const name = policyKeyName(spec);
	const own = keys !== undefined && Object.hasOwn(keys, name) ? keys[name] : undefined;
	const key = own ?? variableKey(spec, environment, keyVariables) ?? originKey(spec, environment);
	if (key === undefined || key === '') return null;
	// An invalid header value would be quoted in the error message.
	if (!/^[\x21-\x7e]+$/.test(key)) {
		throw new Failure(
			'invalid',
			`The API key for ${spec.name} contains spaces or non-ASCII characters.`,
			'Set the key again.',
		);
	}
	return key;
}

/** Fails with `denied` if only the policy file names the variable, or `missing` if the variable is not set. */
function variableKey(
	{ name, baseUrl, keyVariable }: OpenAiSpec,
	environment: NonNullable<ServerContext['environment']>,
	named: readonly string[],
): string | undefined {
	if (keyVariable === undefined) return undefined;
	if (!named.includes(keyVariable)) {
		throw new Failure(
			'denied',
			`The policy "${name}" tries to send the environment variable ${keyVariable} as an API key to ${new URL(baseUrl).origin}. A policy file cannot choose which variables are sent.`,
			`To allow this, add --key-variable ${keyVariable}, or set a key for this origin in ${apiKeysVariable}.`,
		);
	}
	const key = environment[keyVariable];
	if (key !== undefined && key !== '') return key;
	throw new Failure(
		'missing',
		`The environment variable ${keyVariable} does not contain an API key for ${name}.`,
		'Set the variable, or remove "keyVariable" from the policy.',
	);
}

function originKey(
	{ baseUrl }: OpenAiSpec,
	environment: NonNullable<ServerContext['environment']>,
): string | undefined {
	const keys = apiKeysOf(environment);
	const { origin } = new URL(baseUrl);
	return Object.hasOwn(keys, origin) ? keys[origin] : undefined;
}
