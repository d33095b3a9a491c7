import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { CheckRow, DoctorReport, PythonProbe } from '../../protocol/torchEnvironment.ts';
import { findSandbox } from '../../rewards/sandbox/findSandbox.ts';
import { parseSandboxMode, sandboxVariable } from '../../rewards/sandbox/sandboxMode.ts';
import { type EnvironmentState, environmentState } from '../environmentState.ts';
import { findMachine } from '../machine/findMachine.ts';
import { freeDisk } from '../machine/freeDisk.ts';
import { ManagedFolder } from '../managedFolder.ts';
import { probePython, trlImport } from '../pythons/probePython.ts';
import { requirementLines, requirementsFolder } from '../setup/requirements.ts';
import { pythonSetting, type TorchPython, type TorchPythonSettings, torchPython } from '../torchPython.ts';
import { deviceRows } from './deviceRows.ts';
import type { DoctorFacts } from './doctorFacts.ts';
import { engineDeviceRows, engineDevices } from './engineDevices.ts';
import { machineRows, optionalPackages, optionalRows } from './optionalRows.ts';
import { packageRows, pythonRows } from './pythonRows.ts';
import { rangeOf, type VersionRange } from './versionRange.ts';

export interface DoctorOptions extends TorchPythonSettings {
	/** Sandbox mode, spelled as in the setting; defaults to the environment variable, then `auto`. */
	readonly sandbox?: string;
	/** Whether to check only versions, without importing packages. A quick check takes less than a second. */
	readonly quick?: boolean;
	/** Path of the embedded engine's entry point, used to check its devices. If absent, the devices are not checked. */
	readonly engine?: string;
	readonly signal?: AbortSignal;
	/** Called with a description of each check, because importing large packages can take a while. */
	readonly onProgress?: (message: string) => void;
}

/** Checks everything the PyTorch engine needs. Problems are reported as rows; the only failure is `cancelled`. */
export async function examine(options: DoctorOptions = {}): Promise<DoctorReport> {
	const started = performance.now();
	const facts = await gatherFacts(options);
	if (options.signal?.aborted) throw new Failure('cancelled', 'Canceled.');
	const { chosen } = facts;
	return {
		format: 1,
		python: chosen instanceof Failure ? null : chosen.python,
		source: chosen instanceof Failure ? null : chosen.source,
		rows: doctorRows(facts),
		seconds: (performance.now() - started) / 1000,
	};
}

/** Converts the collected facts to rows of check results. */
export function doctorRows(facts: DoctorFacts): CheckRow[] {
	return [
		...pythonRows(facts),
		...packageRows(facts),
		...deviceRows(facts),
		...engineDeviceRows(facts),
		...optionalRows(facts),
		...machineRows(facts),
	];
}

async function gatherFacts(options: DoctorOptions): Promise<DoctorFacts> {
	const { quick = false, signal, onProgress } = options;
	const variables = options.variables ?? process.env;
	const folder = ManagedFolder.at(options.folder ?? null, variables);
	onProgress?.('Python');
	const chosen = await settled<TorchPython>(torchPython(options));
	const [probe, machine, state, sandbox, ranges, disks, devices] = await Promise.all([
		chosen instanceof Failure ? null : settled<PythonProbe>(probeAll(chosen.python, quick, signal, onProgress)),
		findMachine(variables, signal),
		environmentState(folder).catch((): EnvironmentState => ({ kind: 'none' })),
		settled(sandboxFacts(options.sandbox ?? variables[sandboxVariable])),
		readRanges(),
		disksOf(folder, variables),
		quick || options.engine === undefined ? null : settled(engineDevices(options.engine, signal)),
	]);
	return {
		chosen,
		namedBy: options.namedBy ?? `the setting ${pythonSetting}`,
		probe,
		machine,
		state,
		sandbox,
		ranges,
		disks,
		node: process.version,
		engineDevices: devices,
	};
}

/** Probes versions first, so that only installed packages are imported. */
async function probeAll(
	python: string,
	quick: boolean,
	signal: AbortSignal | undefined,
	onProgress: DoctorOptions['onProgress'],
): Promise<PythonProbe> {
	const cancellable = signal === undefined ? {} : { signal };
	const versions = await probePython(python, cancellable);
	if (quick) return versions;
	const { packages } = versions;
	const imports = [
		...(packages.trl ? [trlImport] : []),
		...optionalPackages.filter(({ name }) => packages[name]).map(({ module }) => module),
	];
	onProgress?.(`importing ${['torch', ...imports.map((name) => name.split(':')[0])].join(', ')}`);
	return probePython(python, { torch: true, imports, ...cancellable });
}

async function sandboxFacts(mode: string | undefined): Promise<Exclude<DoctorFacts['sandbox'], Failure>> {
	const { description, gaps } = await findSandbox(parseSandboxMode(mode));
	return { description, gaps };
}

async function readRanges(): Promise<VersionRange[]> {
	const text = await readFile(join(await requirementsFolder(), 'ranges.txt'), 'utf8');
	return requirementLines(text).map(rangeOf);
}

async function disksOf(folder: ManagedFolder, variables: NodeJS.ProcessEnv): Promise<DoctorFacts['disks']> {
	const hub = [
		variables.HF_HUB_CACHE,
		variables.HF_HOME && join(variables.HF_HOME, 'hub'),
		join(variables.XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface', 'hub'),
	].find((path): path is string => !!path && isAbsolute(path));
	const places = [
		{ what: 'environment', path: folder.path },
		...(hub === undefined ? [] : [{ what: 'models and datasets from the Hub', path: hub }]),
	];
	return Promise.all(places.map(async (place) => ({ ...place, free: await freeDisk(place.path) })));
}

/** Returns the resolved value or the failure. */
async function settled<T>(work: Promise<T>): Promise<T | Failure> {
	try {
		return await work;
	} catch (error) {
		return Failure.from(error);
	}
}
