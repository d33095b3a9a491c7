import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { Failure } from '../base/failure.ts';
import { isEnvironmentFile } from '../core/episode/environmentLanguage.ts';
import { isServerAddress } from '../core/episode/serverAddress.ts';
import type { EnvironmentKind } from '../protocol/environmentHost.ts';
import type { SearchEnvironment } from '../protocol/searchSpec.ts';
import { readHead } from '../rewards/rewardData.ts';

/** Where an environment comes from. */
export interface EnvironmentSource {
	readonly kind: EnvironmentKind;
	/** Absolute path of a file or folder, name of a verifiers package, or address of an OpenEnv server. */
	readonly file: string;
	/** Arguments of a package or server. */
	readonly arguments?: Readonly<Record<string, unknown>>;
	/** Python interpreter of the folder's own virtual environment. */
	readonly python?: string;
}

/** Returns the parts of a source that its host process needs in addition to `file`. */
export function sentSource({
	kind,
	arguments: given,
}: EnvironmentSource): Pick<EnvironmentSource, 'kind' | 'arguments'> {
	return given === undefined ? { kind } : { kind, arguments: given };
}

/** Returns the part of a search's environment that identifies its source. */
export function sourcePlace({
	kind,
	file,
}: Pick<EnvironmentSource, 'kind' | 'file'>): Pick<SearchEnvironment, 'file' | 'package' | 'server'> {
	if (kind === 'file') return { file };
	return isServerAddress(file) ? { server: file } : { package: file };
}

const packageName = /^[A-Za-z0-9][\w-]*$/;

/**
 * Determines what text from a user or a recipe refers to: an environment file, a folder with a package, the address of
 * a server, or the name of an installed verifiers package. Does not run code or contact servers. Fails with `missing`
 * or `invalid`.
 * @param written path (relative to the working directory), address, or name
 */
export async function environmentSource(
	written: string,
	options: { readonly arguments?: Readonly<Record<string, unknown>> | undefined } = {},
): Promise<EnvironmentSource> {
	const given = options.arguments === undefined ? {} : { arguments: options.arguments };
	if (isServerAddress(written)) return { kind: 'openenv', file: written, ...given };
	const path = resolve(written);
	const info = await stat(path).catch(() => null);
	if (info?.isDirectory()) return { ...(await folderSource(path)), ...given };
	if (isEnvironmentFile(written) || info !== null || !packageName.test(written)) {
		if (info === null && isEnvironmentFile(path)) {
			throw new Failure('missing', `The environment file ${path} does not exist.`, 'Fix the path.');
		}
		if (!info?.isFile() || !isEnvironmentFile(path)) {
			const action =
				'Specify a *.env.py or *.env.ts file, a folder with pyproject.toml or openenv.yaml, a package, or an address.';
			throw new Failure('invalid', `${path} is not an environment file.`, action);
		}
		if (options.arguments !== undefined) {
			throw new Failure('invalid', 'Environment files do not accept arguments.', 'Use dataset columns instead.');
		}
		return { kind: 'file', file: path };
	}
	return { kind: 'verifiers', file: written, ...given };
}

async function folderSource(folder: string): Promise<EnvironmentSource> {
	const python = await pythonIn(folder);
	const own = python === null ? {} : { python };
	if (await isFile(join(folder, 'openenv.yaml'))) return { kind: 'openenv', file: folder, ...own };
	if (await isFile(join(folder, 'pyproject.toml'))) return { kind: 'verifiers', file: folder, ...own };
	throw new Failure(
		'invalid',
		`${folder} does not contain an environment.`,
		'A verifiers package has a pyproject.toml; an OpenEnv environment has an openenv.yaml.',
	);
}

/** Returns the interpreter in a folder's `.venv`, which `uv` creates, or null. */
async function pythonIn(folder: string): Promise<string | null> {
	const path = join(folder, '.venv', ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']));
	return (await isFile(path)) ? path : null;
}

async function isFile(path: string): Promise<boolean> {
	return (await stat(path).catch(() => null))?.isFile() ?? false;
}

/** Whether a pyproject.toml belongs to a verifiers environment, that is, lists verifiers as a dependency. */
export async function declaresVerifiers(path: string): Promise<boolean> {
	const text = await readHead(path);
	return /^\s*(?:dependencies\s*=\s*\[.*)?["']verifiers(?:\[[^\]]*\])?\s*(?:[<>=!~;@].*)?["']/m.test(text);
}
