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

/** uv knows the builds that are chosen between since this version. */
export const minUv = '0.9.0';

/** What a person has chosen. */
export interface SetupChoices {
	readonly device: DeviceWish;
	readonly installer: InstallerWish;
	/** The package index in place of the installer's own; null: that. */
	readonly indexUrl: string | null;
	/** Added to each call of pip, or of uv pip. */
	readonly pipArguments: readonly string[];
}

export interface PlanInput {
	readonly machine: MachineFacts;
	/** The Python that the environment is made with, and what it says of itself. */
	readonly python: { readonly path: string; readonly probe: PythonProbe };
	readonly choices: SetupChoices;
	/** Requirement files and their lines. */
	readonly files: readonly string[];
	readonly pins: readonly string[];
	/** The requirement file that brings uv. */
	readonly uvFile: string;
	/** The environment's folder. */
	readonly folder: string;
	/** What the package index has of torch for this Python, where it decides ({@link indexDecides}); null: it was not asked. */
	readonly torch: TakenTorch | null;
}

export interface PlannedCommand {
	/** "Installing torch" */
	readonly title: string;
	readonly program: string;
	readonly args: readonly string[];
	/** Changes of the environment variables; undefined: without it. */
	readonly environment: Readonly<Record<string, string | undefined>>;
	/** Share of the whole, for progress. */
	readonly weight: number;
}

/** All that a setup does, before anything is done. */
export interface SetupPlan {
	readonly folder: string;
	readonly python: string;
	readonly pythonVersion: string;
	/** `uv`; `pip`; `uv by pip`: pip fetches uv, which then chooses the build. */
	readonly installer: 'uv' | 'pip' | 'uv by pip';
	/** The build that fits the machine. */
	readonly build: TorchBuild;
	/** The build that is expected to be installed, in words. */
	readonly installs: string;
	readonly commands: readonly PlannedCommand[];
	/** About; less where the installer has some in its cache. */
	readonly downloadBytes: number;
	readonly diskBytes: number;
	/** What it takes at least, where the index does not name its build: a disk with less is refused. */
	readonly least: { readonly download: number; readonly disk: number };
	/** What a person should know before it begins. */
	readonly notes: readonly string[];
}

/** Plans a setup. Fails with `unsupported` or `missing` where it cannot be done, and says what to do. */
export function planSetup(input: PlanInput): SetupPlan {
	const { machine, python, choices, folder, pins } = input;
	const build = chooseTorchBuild(machine, choices.device);
	const { installer, notes: openNotes } = chooseInstaller(machine, choices, build);
	if (installer !== 'uv' && (!python.probe.venv || python.probe.ensurepip === null)) {
		throw new Failure(
			'missing',
			`${python.path} cannot create virtual environments: its ensurepip module is missing.`,
			'Install uv, or the package python3-venv of your system (sudo apt install python3-venv).',
		);
	}
	const decides = indexDecides(machine, choices, build);
	const known = decides ? (input.torch?.backend ?? null) : null;
	// An index that could not be asked is expected to have what the public one has: the larger build.
	const taken = known ?? (decides ? indexBuild(machine) : build.backend);
	const notes = known === null ? openNotes : takenNotes(known, build, python.probe.python);
	const packages = pins.map((pin) => pinOf(pin).name);
	if (packages.includes('vllm') && (machine.platform !== 'linux' || build.kind !== 'cuda')) {
		throw new Failure(
			'unsupported',
			`vLLM works only with CUDA GPUs on Linux, but this setup installs ${build.words}.`,
			'Leave vllm out.',
		);
	}
	const { download, disk } = installedSizes(packages, taken ?? build.kind);
	const own = hasOwnIndex(machine, choices) || choices.pipArguments.length > 0;
	const certain = !own || input.torch?.named === true;
	const small = installedSizes(packages, build.backend ?? build.kind);
	const least = certain || small.disk > disk ? { download, disk } : small;
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
		least,
		notes: [...build.notes, ...notes],
	};
}

/** `Python 3.12.1, pip, the CUDA 13.0 build: about 2.9 GB to download, 7.1 GB on disk` */
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
			'Install it, or set reasoningLab.pytorch.installer to auto.',
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

/** Another index, or pip told of one: it says which builds there are. */
function hasOwnIndex(
	{ pipConfigured, uvConfigured }: MachineFacts,
	{ indexUrl }: Pick<SetupChoices, 'indexUrl'>,
): boolean {
	return indexUrl !== null || (pipConfigured && !uvConfigured);
}

/** Whether the package index decides which build of torch is installed: pip cannot choose, and a person's own index has what it has. */
export function indexDecides(machine: MachineFacts, choices: SetupChoices, build: TorchBuild): boolean {
	if (build.backend === null) return false;
	return chooseInstaller(machine, choices, build).installer === 'pip' || choices.indexUrl !== null;
}

function takenNotes(taken: string, build: TorchBuild, python: string): string[] {
	if (taken === build.backend) return [];
	return [
		`For Python ${python} the package index has ${buildWords(taken)} of torch, which will be installed; ${build.words} would match this machine.`,
	];
}

/** That an index has one build only, which may not be the one that fits. */
function otherBuild(machine: MachineFacts, build: TorchBuild, own: boolean): string[] {
	const usual = indexBuild(machine) === 'cpu' ? 'the CPU build' : 'the CUDA 13.0 build';
	return [
		own
			? `The package index determines the torch build; ${build.words} would match this machine.`
			: `pip installs the build that its index offers, usually ${usual}; ${build.words} would match this machine. uv can choose.`,
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
		// Where the index is a person's own, PyTorch's is not asked.
		const backend = build.backend === null || choices.indexUrl !== null ? [] : ['--torch-backend', build.backend];
		const torch = taken === null ? [] : [taken.pin];
		const args = ['pip', 'install', '--python', inside, ...backend, ...torch, ...requirements, ...choices.pipArguments];
		return command('Installing packages', 90, uv, ...args);
	};
	if (installer === 'uv') {
		const uv = machine.uv?.path ?? 'uv';
		return [command(venv, 2, uv, 'venv', '--no-project', '--python', python.path, folder), uvInstall(uv)];
	}
	// pip of 24.1 says how far a download is.
	const bar = atLeast(python.probe.ensurepip ?? '0', '24.1') ? 'raw' : 'off';
	const pip = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', bar];
	const make = command(venv, 5, python.path, '-m', 'venv', folder);
	if (installer === 'uv by pip') {
		const uv = join(folder, process.platform === 'win32' ? join('Scripts', 'uv.exe') : join('bin', 'uv'));
		return [make, command('Fetching uv', 3, inside, ...pip, '-r', uvFile), uvInstall(uv)];
	}
	// torch by itself first: a resolver that sees everything at once may look for another build of it.
	const torch = taken === null ? pins.filter((pin) => pinOf(pin).name === 'torch') : [taken.pin];
	return [
		make,
		...torch.map((pin) => command('Installing torch', 55, inside, ...pip, pin, ...choices.pipArguments)),
		command('Installing packages', 30, inside, ...pip, ...requirements, ...choices.pipArguments),
	];
}

/** In variables and not in arguments, because other users of a machine see arguments, and an address may hold a password. */
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
