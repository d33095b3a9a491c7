import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import type { PythonProbe } from '../../protocol/torchEnvironment.ts';
import { atLeast, type MachineFacts } from '../machine/machineFacts.ts';
import { programOf } from '../pythons/interpreter.ts';
import { installedSizes } from './installedSizes.ts';
import type { TakenTorch } from './offeredTorch.ts';
import { pinOf } from './requirements.ts';
import { buildWords, chooseTorchBuild, type DeviceWish, indexBuild, type TorchBuild } from './torchBuild.ts';

export const installerWishes = ['auto', 'uv', 'pip'] as const;
export type InstallerWish = (typeof installerWishes)[number];

/** First uv version that supports all of the torch builds used here. */
export const minUv = '0.9.0';

/** Setup options chosen by the user. */
export interface SetupChoices {
	readonly device: DeviceWish;
	readonly installer: InstallerWish;
	/** Package index URL; null for the installer's default. */
	readonly indexUrl: string | null;
	/** Additional arguments for every pip or uv pip call. */
	readonly pipArguments: readonly string[];
}

export interface PlanInput {
	readonly machine: MachineFacts;
	/** Base Python interpreter for the environment and its probe result. */
	readonly python: { readonly path: string; readonly probe: PythonProbe };
	readonly choices: SetupChoices;
	/** Requirements files and their lines. */
	readonly files: readonly string[];
	readonly pins: readonly string[];
	/** Requirements file that installs uv. */
	readonly uvFile: string;
	/** Path of the environment. */
	readonly folder: string;
	/**
	 * The torch build from the package index for this Python, if the index determines it ({@link indexDecides}); null if
	 * not queried.
	 */
	readonly torch: TakenTorch | null;
}

export interface PlannedCommand {
	/** Step title, such as "Installing torch". */
	readonly title: string;
	readonly program: string;
	readonly args: readonly string[];
	/** Environment variables to set; undefined removes a variable. */
	readonly environment: Readonly<Record<string, string | undefined>>;
	/** Relative weight of this step for progress. */
	readonly weight: number;
}

/** Complete description of a setup, created before anything is changed. */
export interface SetupPlan {
	readonly folder: string;
	readonly python: string;
	readonly pythonVersion: string;
	/** `uv`; `pip`; or `uv by pip`: pip installs uv, which then selects the build. */
	readonly installer: 'uv' | 'pip' | 'uv by pip';
	/** Build that matches the machine. */
	readonly build: TorchBuild;
	/** Description of the build expected to be installed. */
	readonly installs: string;
	readonly commands: readonly PlannedCommand[];
	/** Approximate download size in bytes; less if the installer has cached packages. */
	readonly downloadBytes: number;
	readonly diskBytes: number;
	/**
	 * Minimum disk space required, for the smallest build the index may provide. Setup is rejected if less is available.
	 */
	readonly min: { readonly download: number; readonly disk: number };
	/** Notes for the user before setup begins. */
	readonly notes: readonly string[];
}

/** Plans a setup. If it is not possible, fails with `unsupported` or `missing` and a suggested action. */
export function planSetup(input: PlanInput): SetupPlan {
	const { machine, python, choices, folder, pins } = input;
	const build = chooseTorchBuild(machine, choices.device);
	const { installer, notes: openNotes } = chooseInstaller(machine, choices, build);
	if (installer !== 'uv' && (!python.probe.venv || python.probe.ensurepip === null)) {
		throw new Failure(
			'missing',
			`${python.path} cannot create virtual environments: its ensurepip module is missing.`,
			"Install uv, or your system's python3-venv package (sudo apt install python3-venv).",
		);
	}
	const decides = indexDecides(machine, choices, build);
	const known = decides ? (input.torch?.backend ?? null) : null;
	// If the index could not be queried, assume the larger build that the public index provides.
	const taken = known ?? (decides ? indexBuild(machine) : build.backend);
	const notes = known === null ? openNotes : takenNotes(known, build, python.probe.python);
	const packages = pins.map((pin) => pinOf(pin).name);
	if (packages.includes('vllm') && (machine.platform !== 'linux' || build.kind !== 'cuda')) {
		throw new Failure(
			'unsupported',
			`vLLM works only with CUDA GPUs on Linux, but this setup installs ${build.words}.`,
			'Omit vllm.',
		);
	}
	const { download, disk } = installedSizes(packages, taken ?? build.kind);
	const own = hasOwnIndex(machine, choices) || choices.pipArguments.length > 0;
	const certain = !own || input.torch?.named === true;
	const small = installedSizes(packages, build.backend ?? build.kind);
	const min = certain || small.disk > disk ? { download, disk } : small;
	return {
		folder,
		python: python.path,
		pythonVersion: python.probe.python,
		installer,
		build,
		installs: taken === null || taken === build.backend ? build.words : buildWords(taken),
		commands: commandsOf(input, installer, build),
		downloadBytes: download,
		diskBytes: disk,
		min,
		notes: [...build.notes, ...notes],
	};
}

/** Returns a summary: `Python 3.12.1, pip, the CUDA 13.0 build: about 2.9 GB to download, 7.1 GB on disk` */
export function planSentence(plan: SetupPlan): string {
	const sizes = `about ${formatBytes(plan.downloadBytes)} to download, ${formatBytes(plan.diskBytes)} on disk`;
	return `Python ${plan.pythonVersion}, ${plan.installer}, ${plan.installs}: ${sizes}`;
}

function chooseInstaller(
	machine: MachineFacts,
	{ installer: wish, indexUrl }: SetupChoices,
	build: TorchBuild,
): Pick<SetupPlan, 'installer' | 'notes'> {
	const { uv } = machine;
	const usable = uv !== null && atLeast(uv.version, minUv);
	if (wish === 'uv' && !usable) {
		throw new Failure(
			uv === null ? 'missing' : 'version',
			uv === null ? 'uv is not installed.' : `uv ${uv.version} is older than ${minUv}.`,
			'Install or update uv, or set reasoningLab.pytorch.installer to auto.',
		);
	}
	const own = hasOwnIndex(machine, { indexUrl });
	const other = build.backend === null || build.backend === indexBuild(machine) ? [] : otherBuild(machine, build, own);
	if (wish === 'uv') return { installer: 'uv', notes: indexUrl === null ? [] : other };
	if (wish === 'pip') return { installer: 'pip', notes: other };
	if (indexUrl !== null) return { installer: usable ? 'uv' : 'pip', notes: other };
	if (own) return { installer: 'pip', notes: other };
	if (usable) return { installer: 'uv', notes: [] };
	return other.length === 0 ? { installer: 'pip', notes: [] } : { installer: 'uv by pip', notes: [] };
}

/** Returns whether a custom index, given or configured in pip, determines which builds are available. */
function hasOwnIndex(
	{ pipConfigured, uvConfigured }: MachineFacts,
	{ indexUrl }: Pick<SetupChoices, 'indexUrl'>,
): boolean {
	return indexUrl !== null || (pipConfigured && !uvConfigured);
}

/**
 * Returns whether the package index determines the torch build: pip cannot choose one, and a custom index offers only
 * its own builds.
 */
export function indexDecides(machine: MachineFacts, choices: SetupChoices, build: TorchBuild): boolean {
	if (build.backend === null) return false;
	return chooseInstaller(machine, choices, build).installer === 'pip' || choices.indexUrl !== null;
}

function takenNotes(taken: string, build: TorchBuild, python: string): string[] {
	if (taken === build.backend) return [];
	return [
		`For Python ${python}, the package index provides ${buildWords(taken)} of torch, which will be installed; ${build.words} would match this machine.`,
	];
}

/** Returns a note that the index provides only one build, which may not match the machine. */
function otherBuild(machine: MachineFacts, build: TorchBuild, own: boolean): string[] {
	const usual = indexBuild(machine) === 'cpu' ? 'the CPU build' : 'the CUDA 13.0 build';
	return [
		own
			? `The torch build depends on the package index; ${build.words} would match this machine.`
			: `pip installs the build offered by its index, usually ${usual}; ${build.words} would match this machine. uv can select a build.`,
	];
}

function commandsOf(input: PlanInput, installer: SetupPlan['installer'], build: TorchBuild): PlannedCommand[] {
	const { machine, python, choices, folder, files, pins, uvFile, torch: taken } = input;
	const inside = programOf(folder);
	const variables = indexVariables(choices);
	const requirements = files.flatMap((file) => ['-r', file]);
	const command = (title: string, weight: number, program: string, ...args: string[]): PlannedCommand => ({
		...{ title, weight, program, args, environment: variables },
	});
	const venv = 'Creating the virtual environment';
	const uvInstall = (uv: string) => {
		// With a custom index, PyTorch's own index is not used.
		const backend = build.backend === null || choices.indexUrl !== null ? [] : ['--torch-backend', build.backend];
		const torch = taken === null ? [] : [taken.pin];
		const args = ['pip', 'install', '--python', inside, ...backend, ...torch, ...requirements, ...choices.pipArguments];
		return command('Installing packages', 90, uv, ...args);
	};
	if (installer === 'uv') {
		const uv = machine.uv?.path ?? 'uv';
		return [command(venv, 2, uv, 'venv', '--no-project', '--python', python.path, folder), uvInstall(uv)];
	}
	// pip has reported download progress since version 24.1.
	const bar = atLeast(python.probe.ensurepip ?? '0', '24.1') ? 'raw' : 'off';
	const pip = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', bar];
	const make = command(venv, 5, python.path, '-m', 'venv', folder);
	if (installer === 'uv by pip') {
		const uv = join(folder, process.platform === 'win32' ? join('Scripts', 'uv.exe') : join('bin', 'uv'));
		return [make, command('Installing uv', 3, inside, ...pip, '-r', uvFile), uvInstall(uv)];
	}
	// Install torch first; otherwise, the resolver could select a different build.
	const torch = taken === null ? pins.filter((pin) => pinOf(pin).name === 'torch') : [taken.pin];
	return [
		make,
		...torch.map((pin) => command('Installing torch', 55, inside, ...pip, pin, ...choices.pipArguments)),
		command('Installing packages', 30, inside, ...pip, ...requirements, ...choices.pipArguments),
	];
}

/**
 * Passes the index URL in environment variables, because it may contain a password and other users can see command-line
 * arguments.
 */
export function indexVariables({ indexUrl }: Pick<SetupChoices, 'indexUrl'>): Record<string, string | undefined> {
	return {
		PIP_USER: undefined,
		PIP_TARGET: undefined,
		PIP_PREFIX: undefined,
		PIP_REQUIRE_VIRTUALENV: undefined,
		PYTHONNOUSERSITE: '1',
		UV_SYSTEM_PYTHON: undefined,
		UV_TORCH_BACKEND: undefined,
		UV_NO_PROGRESS: undefined,
		...(indexUrl === null ? {} : { PIP_INDEX_URL: indexUrl, UV_DEFAULT_INDEX: indexUrl, UV_INDEX_URL: undefined }),
	};
}
