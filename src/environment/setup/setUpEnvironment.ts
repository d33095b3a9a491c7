import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { FileLock } from '../../files/fileLock.ts';
import { runProgram } from '../../processes/runProgram.ts';
import type { ManagedEnvironment, PythonProbe } from '../../protocol/torchEnvironment.ts';
import { findMachine } from '../machine/findMachine.ts';
import { freeDisk } from '../machine/freeDisk.ts';
import type { MachineFacts } from '../machine/machineFacts.ts';
import type { ManagedFolder } from '../managedFolder.ts';
import { type FoundPython, findPythons } from '../pythons/findPythons.ts';
import { namedInterpreter, programOf } from '../pythons/interpreter.ts';
import { whyUnusable } from '../pythons/judgePython.ts';
import { probePython, trlImport } from '../pythons/probePython.ts';
import { explainFailure } from './installFailure.ts';
import { InstallMeter } from './installOutput.ts';
import { offeredVersions, type TakenTorch, takenTorch } from './offeredTorch.ts';
import { pinOf, readRequirements, requirementsFolder, type SetupExtra } from './requirements.ts';
import { SetupLog } from './setupLog.ts';
import {
	indexDecides,
	indexVariables,
	type PlannedCommand,
	planSetup,
	type SetupChoices,
	type SetupPlan,
} from './setupPlan.ts';
import { buildNote, chooseTorchBuild, indexBuild, installedBuild } from './torchBuild.ts';
import { removeFolder, removeUnusedEnvironments } from './unusedEnvironments.ts';

export interface SetupOptions {
	readonly folder: ManagedFolder;
	/** Version of Reasoning Lab. */
	readonly version: string;
	readonly choices: SetupChoices;
	readonly extras: readonly SetupExtra[];
	/** Base Python interpreter for the environment; null selects the best available one. */
	readonly python: string | null;
	/** Folder with custom requirements files; null to use the trainer's own. */
	readonly requirements?: string | null;
	readonly signal?: AbortSignal;
}

export interface SetupProgress {
	/** Current activity, such as "Installing packages: downloading torch (230 MB)". */
	readonly message: string;
	/** Fraction completed, 0 to 1. */
	readonly fraction: number;
}

export interface SetupCallbacks {
	/** Called before the first command; an exception aborts the setup. */
	readonly onPlan?: (plan: SetupPlan, log: string) => unknown;
	readonly onProgress?: (progress: SetupProgress) => void;
}

export interface SetupResult {
	readonly python: string;
	readonly record: ManagedEnvironment;
	readonly log: string;
	readonly seconds: number;
	readonly probe: PythonProbe;
	/** Notes for the user about what was installed. */
	readonly notes: readonly string[];
}

interface Prepared {
	readonly plan: SetupPlan;
	readonly pins: readonly string[];
	readonly name: string;
	/** Requested extras plus those implied by the machine's GPUs. */
	readonly extras: readonly SetupExtra[];
}

/** Plans a setup without changing anything. Fails if the setup is not possible. */
export async function prepareSetup(options: SetupOptions): Promise<Prepared> {
	const { folder, choices, signal } = options;
	const [machine, pythons] = await Promise.all([findMachine(process.env, signal), basePythons(options)]);
	const extras: SetupExtra[] = [...options.extras];
	if (machine.nvidia !== null && !extras.includes('gpu')) extras.push('gpu');
	const requirements = await readRequirements(extras, options.requirements ?? null);
	const { python, torch } = await chooseTorch(pythons, { machine, choices, pins: requirements.pins, signal });
	const name = `${new Date().toISOString().slice(0, 10)}-${randomBytes(3).toString('hex')}`;
	const plan = planSetup({
		machine,
		python,
		choices,
		files: requirements.files,
		pins: requirements.pins,
		uvFile: join(options.requirements ?? (await requirementsFolder()), 'uv.txt'),
		folder: join(folder.environments, name),
		torch,
	});
	return { plan, pins: requirements.pins, name, extras };
}

/**
 * Creates the environment for the PyTorch engine in a separate folder and activates it once everything in it works. If
 * the setup is interrupted or fails, the previous environment stays active and only the log remains. Fails with `busy`
 * if another setup is running, `full`, `cancelled`, or a failure derived from the installer's output.
 */
export async function setUpEnvironment(options: SetupOptions, callbacks: SetupCallbacks = {}): Promise<SetupResult> {
	const { folder, signal } = options;
	const started = performance.now();
	callbacks.onProgress?.({ message: 'Detecting Python and GPUs', fraction: 0 });
	const prepared = await prepareSetup(options);
	const lock = await takeLock(folder);
	let log: SetupLog | null = null;
	try {
		await removeUnusedEnvironments(folder.environments, (await folder.current())?.record.folder ?? null);
		const { plan } = prepared;
		await requireDisk(plan);
		await ensureFolder(folder.environments);
		log = await SetupLog.create(folder.logs);
		log.line(
			`Reasoning Lab ${options.version}: ${plan.pythonVersion} (${plan.python}), ${plan.installer}, ${plan.installs}`,
		);
		for (const note of plan.notes) log.line(`Note: ${note}`);
		await callbacks.onPlan?.(plan, log.path);
		const result = await install(options, prepared, log, callbacks);
		log.line(`Ready after ${Math.round((performance.now() - started) / 1000)} s.`);
		return { ...result, log: log.path, seconds: (performance.now() - started) / 1000 };
	} catch (error) {
		// Any operation above can fail because the disk is full.
		const failure = signal?.aborted ? new Failure('cancelled', 'Canceled.') : Failure.from(error, 'Setup failed');
		log?.line(failure.reason === 'cancelled' ? 'Canceled.' : `Failed: ${failure.toString()}`);
		await removeFolder(prepared.plan.folder);
		throw failure;
	} finally {
		await log?.close();
		await lock.release();
	}
}

/** Removes the managed environment except its logs. Fails with `busy`. @returns the environments still in use */
export async function removeEnvironment(folder: ManagedFolder): Promise<string[]> {
	const lock = await takeLock(folder);
	try {
		const current = await folder.current();
		const left = await removeUnusedEnvironments(folder.environments, null);
		if (current !== null && left.includes(current.record.folder)) {
			throw new Failure(
				'busy',
				'The PyTorch environment is in use by a running process.',
				'Stop the runs that use it, then try again.',
			);
		}
		await removeFolder(folder.recordFile);
		return left;
	} finally {
		await lock.release();
	}
}

async function takeLock(folder: ManagedFolder): Promise<FileLock> {
	try {
		return await FileLock.acquire(folder.lock, 'The PyTorch environment');
	} catch (error) {
		const failure = Failure.from(error);
		if (failure.reason !== 'busy') throw failure;
		const holder = await FileLock.holder(folder.lock);
		const who = holder === null ? '' : ` (process ${holder.pid})`;
		throw new Failure(
			'busy',
			`The PyTorch engine is already being set up in another window or shell${who}.`,
			'Wait for it to finish. The environment is shared by all windows.',
		);
	}
}

type BasePython = Pick<FoundPython, 'path' | 'probe'>;

/** Maximum number of interpreters to query the index for. */
const maxAsked = 4;

/**
 * Selects the environment's interpreter and torch build: the first interpreter for which the index offers the build
 * that matches the machine, or else the best interpreter.
 */
async function chooseTorch(
	pythons: readonly [BasePython, ...BasePython[]],
	facts: {
		readonly machine: MachineFacts;
		readonly choices: SetupChoices;
		readonly pins: readonly string[];
		readonly signal: AbortSignal | undefined;
	},
): Promise<{ readonly python: BasePython; readonly torch: TakenTorch | null }> {
	const { machine, choices, pins, signal } = facts;
	const [best] = pythons;
	const build = chooseTorchBuild(machine, choices.device);
	const pin = pins.find((line) => pinOf(line).name === 'torch' && pinOf(line).version !== null);
	const wanted = build.backend;
	if (pin === undefined || wanted === null || !indexDecides(machine, choices, build)) {
		return { python: best, torch: null };
	}
	// Like the best interpreter, an alternative must be able to create environments on its own.
	const capable = pythons.filter(({ probe }) => probe.venv && probe.ensurepip !== null);
	let first: TakenTorch | null = null;
	for (const python of (capable.includes(best) ? capable : [best]).slice(0, maxAsked)) {
		const environment = indexVariables(choices);
		const { pipArguments } = choices;
		const offered = await offeredVersions(python.path, 'torch', { pipArguments, environment, signal });
		const torch = takenTorch(offered, { pin, wanted, usual: indexBuild(machine) });
		if (torch.backend === wanted) return { python, torch };
		first ??= torch;
	}
	return { python: best, torch: first };
}

/** Returns the usable interpreters, best first, or only the one selected by the user. */
async function basePythons(options: SetupOptions): Promise<readonly [BasePython, ...BasePython[]]> {
	const { python, signal } = options;
	if (python !== null) {
		const path = await namedInterpreter(python, 'The Python selection');
		const probe = await probePython(path, signal === undefined ? {} : { signal });
		const why = whyUnusable(probe);
		if (why === null) return [{ path, probe }];
		throw new Failure('unsupported', `Cannot use ${path}: ${why}.`, 'Choose another Python interpreter.');
	}
	const found = await findPythons(signal === undefined ? {} : { signal });
	// An environment based on another environment would break if the other one were removed.
	const usable = found.filter(({ unusable }) => unusable === null);
	const own = usable.filter(({ probe }) => !probe.virtual);
	const [best, ...others] = own.length > 0 ? own : usable;
	if (best !== undefined) return [best, ...others];
	const [first] = found;
	throw new Failure(
		'missing',
		first === undefined
			? 'No Python interpreter found on this machine.'
			: `No usable Python interpreter found on this machine (${first.path}: ${first.unusable}).`,
		'Install Python 3.12, or specify an installed interpreter with --python.',
	);
}

async function requireDisk({ folder, min, installer }: SetupPlan): Promise<void> {
	const short = async (path: string, needed: number, what: string) => {
		const free = await freeDisk(path);
		if (free === null || free >= needed) return;
		throw new Failure(
			'full',
			`Setup needs about ${formatBytes(needed)} in ${path}${what}, but only ${formatBytes(free)} is free.`,
			'Free up disk space, or choose another folder in reasoningLab.pytorch.folder.',
		);
	};
	await short(folder, min.disk, '');
	// pip stores downloads in the temporary folder before it unpacks them elsewhere.
	if (installer === 'pip') await short(tmpdir(), min.download, ' for downloads');
}

async function install(
	{ folder, version, signal }: SetupOptions,
	{ plan, pins, name, extras }: Prepared,
	log: SetupLog,
	{ onProgress }: SetupCallbacks,
): Promise<Pick<SetupResult, 'python' | 'record' | 'probe' | 'notes'>> {
	let fraction = 0.01;
	const report = (message: string, at: number) => {
		fraction = Math.max(fraction, Math.min(1, at));
		onProgress?.({ message, fraction });
	};
	const whole = plan.commands.reduce((sum, { weight }) => sum + weight, 0);
	const meter = new InstallMeter(plan.downloadBytes);
	let before = 0;
	for (const command of plan.commands) {
		report(command.title, (0.92 * before) / whole);
		await runCommand(command, folder.path, log, signal, (line) => {
			const news = meter.take(line);
			const inside = command.weight > 10 ? 0.92 * (0.05 + meter.fraction) : 0;
			if (news !== null)
				report(`${command.title}: ${news}`, Math.min(inside, (0.92 * (before + command.weight)) / whole));
		});
		before += command.weight;
	}
	report('Testing the installation', 0.93);
	const python = programOf(plan.folder);
	const probe = await verify(python, pins, log, signal);
	// Reported by the installed torch, not taken from the plan.
	const installed =
		plan.build.backend === null || probe.torch === null ? plan.build.backend : installedBuild(probe.torch);
	const note = probe.torch === null ? null : buildNote(plan.build, probe.torch);
	if (note !== null) log.line(`Note: ${note}`);
	const record: ManagedEnvironment = {
		...{ format: 1, folder: name, version, made: Date.now() / 1000 },
		...{ python: probe.python, build: installed ?? plan.build.kind, installer: plan.installer },
		...{ extras: [...extras], pins: [...pins] },
	};
	signal?.throwIfAborted();
	await writeFileAtomic(folder.recordFile, `${JSON.stringify(record, null, '\t')}\n`);
	report('Ready', 1);
	// Removes the previous environment.
	const left = await removeUnusedEnvironments(folder.environments, name);
	if (left.length > 0) log.line(`Still in use, to be removed by the next setup: ${left.join(', ')}`);
	return { python, record, probe, notes: note === null ? [] : [note] };
}

async function runCommand(
	command: PlannedCommand,
	cwd: string,
	log: SetupLog,
	signal: AbortSignal | undefined,
	onLine: (line: string) => void,
): Promise<void> {
	const { title, program, args, environment } = command;
	log.line(`\n$ ${[program, ...args].map(quoted).join(' ')}`);
	const lines: string[] = [];
	const { code, signal: end } = await runProgram(program, args, {
		cwd,
		environment,
		...(signal === undefined ? {} : { signal }),
		onLine: (line) => {
			if (!/^Progress \d+ of \d+$/.test(line)) {
				log.line(line);
				lines.push(line);
				if (lines.length > 400) lines.shift();
			}
			onLine(line);
		},
	});
	if (code !== 0) throw explainFailure(title, lines, { code, signal: end });
}

/** Imports the requested packages. Fails with `corrupt` and the import error. */
async function verify(
	python: string,
	pins: readonly string[],
	log: SetupLog,
	signal: AbortSignal | undefined,
): Promise<PythonProbe> {
	const names = pins.map((pin) => pinOf(pin).name);
	const probe = await probePython(python, {
		torch: names.includes('torch'),
		imports: names.includes('trl') ? [trlImport] : [],
		// The first import also compiles the package.
		seconds: 600,
		own: true,
		...(signal === undefined ? {} : { signal }),
	});
	log.line(`\n${JSON.stringify(probe)}`);
	for (const [name, { ok, error }] of Object.entries(probe.imports)) {
		if (ok) continue;
		throw new Failure(
			'corrupt',
			`The installation is broken: importing ${name.split(':')[0]} failed with ${error ?? 'no message'}.`,
			'Run setup again, or run Doctor for details.',
		);
	}
	return probe;
}

function quoted(word: string): string {
	return /^[\w@%+=:,./\\[\]-]+$/.test(word) ? word : `'${word}'`;
}
