import { readdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { PythonProbe } from '../../protocol/torchEnvironment.ts';
import { programOf } from './interpreter.ts';
import { rankPython, whyUnusable } from './judgePython.ts';
import { probePython } from './probePython.ts';

export interface FoundPython {
	readonly path: string;
	readonly probe: PythonProbe;
	/** Why this interpreter cannot host a PyTorch environment; null if it can. */
	readonly unusable: string | null;
}

export interface FindOptions {
	/** Workspace folders to search for virtual environments. */
	readonly folders?: readonly string[];
	/** Interpreters specified by the user. */
	readonly named?: readonly string[];
	readonly variables?: NodeJS.ProcessEnv;
	readonly signal?: AbortSignal;
}

/** Maximum number of interpreters inspected. */
const maxPythons = 32;
const atOnce = 4;

/** Finds the Python interpreters on this machine. Usable ones come first, ordered from best to worst. */
export async function findPythons(options: FindOptions = {}): Promise<FoundPython[]> {
	const paths = (await candidates(options)).slice(0, maxPythons);
	const found: FoundPython[] = [];
	const next = async (): Promise<void> => {
		for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
			const probe = await probePython(path, options.signal ? { signal: options.signal } : {}).catch(() => null);
			if (probe !== null) found.push({ path, probe, unusable: whyUnusable(probe) });
			options.signal?.throwIfAborted();
		}
	};
	await Promise.all(Array.from({ length: atOnce }, next));
	const rank = ({ probe, unusable }: FoundPython) => rankPython(probe) + (unusable === null ? 0 : 100);
	return found.sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

/**
 * Returns candidate Python executables without duplicates. A virtual environment's interpreter counts as distinct from
 * its base interpreter.
 */
async function candidates({ folders = [], named = [], variables = process.env }: FindOptions): Promise<string[]> {
	const windows = process.platform === 'win32';
	const home = variables.HOME || variables.USERPROFILE || homedir();
	const paths: string[] = [...named];
	for (const folder of folders) {
		for (const name of ['.venv', 'venv', 'env', '.conda']) paths.push(programOf(join(folder, name)));
	}
	if (variables.VIRTUAL_ENV) paths.push(programOf(variables.VIRTUAL_ENV));
	if (variables.CONDA_PREFIX) paths.push(condaProgram(variables.CONDA_PREFIX));
	const names = windows ? ['python.exe', 'python3.exe'] : [...numbered(), 'python3', 'python'];
	const onPath = (variables.PATH ?? variables.Path ?? '').split(delimiter).filter((folder) => folder !== '');
	// These folders might be missing from the editor's PATH.
	const usual = windows ? [] : ['/opt/homebrew/bin', '/usr/local/bin', '/usr/bin', join(home, '.local', 'bin')];
	for (const folder of [...onPath, ...usual]) {
		// Skip version manager shims, whose interpreters are found below, and the Windows aliases that open the Microsoft
		// Store.
		if (/[/\\](shims|WindowsApps)[/\\]?$/.test(folder)) continue;
		for (const name of names) paths.push(join(folder, name));
	}
	for (const [folder, program] of installations(home, variables)) {
		for (const name of await readdir(folder).catch(() => [] as string[])) paths.push(join(folder, name, program));
	}
	const seen = new Set<string>();
	const found: string[] = [];
	for (const path of paths) {
		if (!(await stat(path).catch(() => null))?.isFile()) continue;
		const key = await identity(path);
		if (seen.has(key)) continue;
		seen.add(key);
		found.push(path);
	}
	return found;
}

/** Returns installation folders and the path of the executable relative to each installation. */
function installations(home: string, variables: NodeJS.ProcessEnv): [folder: string, program: string][] {
	if (process.platform === 'win32') {
		const local = variables.LOCALAPPDATA ?? join(home, 'AppData', 'Local');
		const roaming = variables.APPDATA ?? join(home, 'AppData', 'Roaming');
		return [
			[join(local, 'Programs', 'Python'), 'python.exe'],
			[join(roaming, 'uv', 'python'), 'python.exe'],
			[join(home, '.pyenv', 'pyenv-win', 'versions'), 'python.exe'],
			[join(home, 'miniconda3', 'envs'), 'python.exe'],
		];
	}
	const data = variables.XDG_DATA_HOME || join(home, '.local', 'share');
	const program = join('bin', 'python3');
	return [
		[variables.PYENV_ROOT ? join(variables.PYENV_ROOT, 'versions') : join(home, '.pyenv', 'versions'), program],
		[join(data, 'uv', 'python'), program],
		[join(home, 'miniconda3', 'envs'), program],
		[join(home, 'anaconda3', 'envs'), program],
		[join(home, 'miniforge3', 'envs'), program],
		['/Library/Frameworks/Python.framework/Versions', program],
		['/opt', join('conda', program)],
	];
}

function condaProgram(prefix: string): string {
	return process.platform === 'win32' ? join(prefix, 'python.exe') : join(prefix, 'bin', 'python');
}

function numbered(): string[] {
	return ['12', '11', '13', '10', '14'].map((minor) => `python3.${minor}`);
}

/**
 * Returns a key that is the same for all paths of one interpreter. A virtual environment is identified by its folder,
 * even if its executable is a link.
 */
async function identity(path: string): Promise<string> {
	const folder = join(path, '..', '..');
	const virtual = await stat(join(folder, 'pyvenv.cfg')).catch(() => null);
	return virtual === null ? realpath(path).catch(() => path) : realpath(folder).catch(() => folder);
}
