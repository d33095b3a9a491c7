import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findNvidia } from '../../processes/nvidia.ts';
import { runProgram } from '../../processes/runProgram.ts';
import type { MachineFacts, UvFacts } from './machineFacts.ts';
import { findRocm } from './rocm.ts';

/** Collects facts about this machine. Missing or broken components do not cause failures. */
export async function findMachine(
	variables: NodeJS.ProcessEnv = process.env,
	signal?: AbortSignal,
): Promise<MachineFacts> {
	const [nvidia, rocm, uv, pipConfigured, uvConfigured] = await Promise.all([
		findNvidia(signal),
		findRocm(signal),
		findUv(signal),
		isPipConfigured(variables),
		isUvConfigured(variables),
	]);
	return { platform: process.platform, arch: process.arch, nvidia, rocm, uv, pipConfigured, uvConfigured };
}

async function findUv(signal?: AbortSignal): Promise<UvFacts | null> {
	const home = homedir();
	const suffix = process.platform === 'win32' ? '.exe' : '';
	// These folders might be missing from the PATH of an editor started from the desktop.
	const places = [join(home, '.local', 'bin'), join(home, '.cargo', 'bin'), '/opt/homebrew/bin', '/usr/local/bin'];
	for (const path of ['uv', ...places.map((folder) => join(folder, `uv${suffix}`))]) {
		try {
			const options = { limitMs: 20_000, ...(signal === undefined ? {} : { signal }) };
			const { code, stdout } = await runProgram(path, ['--version'], options);
			const version = /^uv (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
			if (code === 0 && version !== undefined) return { path, version };
		} catch {
			signal?.throwIfAborted();
		}
	}
	return null;
}

async function isPipConfigured(variables: NodeJS.ProcessEnv): Promise<boolean> {
	const named = ['PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'PIP_FIND_LINKS', 'PIP_CONFIG_FILE', 'PIP_NO_INDEX'];
	if (named.some((name) => variables[name])) return true;
	const home = homedir();
	return anyFile([
		'/etc/pip.conf',
		join(home, '.pip', 'pip.conf'),
		join(variables.XDG_CONFIG_HOME || join(home, '.config'), 'pip', 'pip.conf'),
		join(home, 'Library', 'Application Support', 'pip', 'pip.conf'),
		...(variables.APPDATA ? [join(variables.APPDATA, 'pip', 'pip.ini')] : []),
		...(variables.PROGRAMDATA ? [join(variables.PROGRAMDATA, 'pip', 'pip.ini')] : []),
	]);
}

async function isUvConfigured(variables: NodeJS.ProcessEnv): Promise<boolean> {
	const named = [
		'UV_INDEX_URL',
		'UV_DEFAULT_INDEX',
		'UV_INDEX',
		'UV_EXTRA_INDEX_URL',
		'UV_FIND_LINKS',
		'UV_CONFIG_FILE',
	];
	if (named.some((name) => variables[name])) return true;
	return anyFile([
		'/etc/uv/uv.toml',
		join(variables.XDG_CONFIG_HOME || join(homedir(), '.config'), 'uv', 'uv.toml'),
		...(variables.APPDATA ? [join(variables.APPDATA, 'uv', 'uv.toml')] : []),
	]);
}

async function anyFile(paths: readonly string[]): Promise<boolean> {
	const found = await Promise.all(paths.map((path) => stat(path).catch(() => null)));
	return found.some((file) => file?.isFile());
}
