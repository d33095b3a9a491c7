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
	/** Of Reasoning Lab. */
	readonly version: string;
	readonly choices: SetupChoices;
	readonly extras: readonly SetupExtra[];
	/** The Python to make it with; null: the best that is found. */
	readonly python: string | null;
	/** Another folder of requirement files; null: the trainer's own. */
	readonly requirements?: string | null;
	readonly signal?: AbortSignal;
}

export interface SetupProgress {
	/** "Installing packages: downloading torch (230 MB)" */
	readonly message: string;
	/** 0 to 1 */
	readonly fraction: number;
}

export interface SetupCallbacks {
	/** Before the first command; what it throws ends the setup. */
	readonly onPlan?: (plan: SetupPlan, log: string) => unknown;
	readonly onProgress?: (progress: SetupProgress) => void;
}

export interface SetupResult {
	readonly python: string;
	readonly record: ManagedEnvironment;
	readonly log: string;
	readonly seconds: number;
	readonly probe: PythonProbe;
	/** What a person should know of what was installed. */
	readonly notes: readonly string[];
}

interface Prepared {
	readonly plan: SetupPlan;
	readonly pins: readonly string[];
	readonly name: string;
	/** Those that were asked for, and what goes with the machine's GPUs. */
	readonly extras: readonly SetupExtra[];
}

/** Plans a setup without doing anything. Fails where it could not be done. */
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
 * Makes the environment of the PyTorch engine: in a folder of its own, which is named as the one in use when everything in it
 * works. Whatever ends it before leaves what was in use in use, and nothing of its own but the log. Fails with `busy` while
 * somebody else does so, `full`, `cancelled`, and with what the installer's words mean.
 */
export async function setUpEnvironment(options: SetupOptions, callbacks: SetupCallbacks = {}): Promise<SetupResult> {
	const { folder, signal } = options;
	const started = performance.now();
	callbacks.onProgress?.({ message: 'Looking for Python and GPUs', fraction: 0 });
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
		// A full disk can be said by anything in between.
		const failure = signal?.aborted ? new Failure('cancelled', 'Canceled.') : Failure.from(error, 'Setup failed');
		log?.line(failure.reason === 'cancelled' ? 'Canceled.' : `Failed: ${failure.toString()}`);
		await removeFolder(prepared.plan.folder);
		throw failure;
	} finally {
		await log?.close();
		await lock.release();
	}
}

/** Removes the managed environment and all that belongs to it but for the logs. Fails with `busy`. @returns those in use */
export async function removeEnvironment(folder: ManagedFolder): Promise<string[]> {
	const lock = await takeLock(folder);
	try {
		const current = await folder.current();
		const left = await removeUnusedEnvironments(folder.environments, null);
		if (current !== null && left.includes(current.record.folder)) {
			throw new Failure(
				'busy',
				'The PyTorch environment is used by a running program.',
				'Stop the runs that use it first.',
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
			`Another window or shell${who} is setting up the PyTorch engine.`,
			'Wait until it has finished; all windows share its environment.',
		);
	}
}

type BasePython = Pick<FoundPython, 'path' | 'probe'>;

/** An index is asked for so many Pythons at most. */
const maxAsked = 4;

/**
 * The Python to make the environment with, and what the package index has of torch for it: the first for which it has the build
 * that fits the machine, else the best of them.
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
	// What takes the place of the best one must be able to do what it can.
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

/** The Pythons that an environment can be made with, the best first; the one that is named alone. */
async function basePythons(options: SetupOptions): Promise<readonly [BasePython, ...BasePython[]]> {
	const { python, signal } = options;
	if (python !== null) {
		const path = await namedInterpreter(python, 'The selected Python');
		const probe = await probePython(path, signal === undefined ? {} : { signal });
		const why = whyUnusable(probe);
		if (why === null) return [{ path, probe }];
		throw new Failure('unsupported', `${path} cannot be used: ${why}.`, 'Choose another Python.');
	}
	const found = await findPythons(signal === undefined ? {} : { signal });
	// An environment made inside an environment would end with it.
	const usable = found.filter(({ unusable }) => unusable === null);
	const own = usable.filter(({ probe }) => !probe.virtual);
	const [best, ...others] = own.length > 0 ? own : usable;
	if (best !== undefined) return [best, ...others];
	const [first] = found;
	throw new Failure(
		'missing',
		first === undefined
			? 'No Python was found on this machine.'
			: `No Python of this machine can be used (${first.path}: ${first.unusable}).`,
		'Install Python 3.12, or select an installed one with --python.',
	);
}

async function requireDisk({ folder, least, installer }: SetupPlan): Promise<void> {
	const short = async (path: string, needed: number, what: string) => {
		const free = await freeDisk(path);
		if (free === null || free >= needed) return;
		throw new Failure(
			'full',
			`Setup needs about ${formatBytes(needed)} in ${path}${what}, but only ${formatBytes(free)} are free.`,
			'Free some space, or set another folder in reasoningLab.pytorch.folder.',
		);
	};
	await short(folder, least.disk, '');
	// pip unpacks nothing there, but puts what it downloads there first.
	if (installer === 'pip') await short(tmpdir(), least.download, ' for downloads');
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
	// What torch says of itself, not what was planned.
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
	// The one that was in use before.
	const left = await removeUnusedEnvironments(folder.environments, name);
	if (left.length > 0) log.line(`Still in use; will be removed at the next setup: ${left.join(', ')}`);
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

/** Imports what was asked for. Fails with `corrupt`, in the words of the import. */
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
		// The first import of a package compiles it.
		seconds: 600,
		own: true,
		...(signal === undefined ? {} : { signal }),
	});
	log.line(`\n${JSON.stringify(probe)}`);
	for (const [name, { ok, error }] of Object.entries(probe.imports)) {
		if (ok) continue;
		throw new Failure(
			'corrupt',
			`The installation does not work: importing ${name.split(':')[0]} failed with ${error ?? 'no message'}.`,
			'Set up again, or run Doctor for details.',
		);
	}
	return probe;
}

function quoted(word: string): string {
	return /^[\w@%+=:,./\\[\]-]+$/.test(word) ? word : `'${word}'`;
}
