import { basename, dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { readSmallFile } from '../files/safeFile.ts';
import { type Options, path } from './options.ts';

const tokenVariable = 'REASONING_LAB_TOKEN';

/** Option for every verb that starts a server with a token. */
export const tokenFileOption = {
	'token-file': path(
		'FILE',
		`File with the token that clients must send (default: the environment variable ${tokenVariable}, or else a new token that is printed at startup).`,
	),
} as const satisfies Options;

/** Returns the user-supplied token, null if no token is required, or undefined if no option was given. */
export async function tokenOf(values: {
	readonly token?: string;
	readonly 'token-file'?: string;
	readonly 'no-token'?: boolean;
}): Promise<string | null | undefined> {
	const file = values['token-file'];
	if (file !== undefined && (values.token !== undefined || values['no-token'])) {
		throw new Failure(
			'invalid',
			'--token-file cannot be combined with --token or --no-token.',
			'Use only one of them.',
		);
	}
	if (values['no-token']) {
		if (values.token !== undefined) {
			throw new Failure('invalid', '--token and --no-token cannot be combined.', 'Use only one of them.');
		}
		return null;
	}
	const token = file === undefined ? (values.token ?? process.env[tokenVariable]) : await readToken(resolve(file));
	if (token === undefined || /^\S{8,}$/.test(token)) return token;
	throw new Failure(
		'invalid',
		'The token is too short or contains spaces.',
		'Use at least 8 characters without spaces.',
	);
}

async function readToken(file: string): Promise<string> {
	return (await readSmallFile(dirname(file), basename(file), 4096)).trim();
}
