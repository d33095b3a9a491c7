import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../src/base/random.ts';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import { connectRun } from '../../src/runs/runControl.ts';
import { hasRecord, readRecord } from '../../src/runs/runReader.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { readOutcome } from '../unit/engines/embedded/runOutcome.ts';
import { processesIn } from './processes.ts';
import { embeddedRecipes, pytorchRecipe, type SmallRecipe, writeRecipe } from './recipes.ts';
import type { Role, Work, WorkKind } from './work.ts';

/** An engine run. */
class RunWork implements Work {
	readonly folder: string;
	readonly run: string;
	readonly #program: string;
	readonly #environment: Readonly<Record<string, string>>;
	#child: ChildProcess | null = null;
	#said = '';

	constructor(folder: string, run: string, program: string, environment: Readonly<Record<string, string>>) {
		this.folder = folder;
		this.run = run;
		this.#program = program;
		this.#environment = environment;
	}

	#spawn(...args: string[]): { child: ChildProcess; said: () => string } {
		let text = '';
		const child = spawn(process.execPath, [this.#program, '--run', this.run, ...args], {
			env: { ...process.env, ...this.#environment },
			stdio: ['ignore', 'ignore', 'pipe'],
		});
		child.stderr?.setEncoding('utf8').on('data', (part: string) => {
			text += part;
		});
		return { child, said: () => text };
	}

	async #begin(...args: string[]): Promise<void> {
		const { child, said } = this.#spawn(...args);
		this.#child = child;
		child.once('close', () => {
			this.#said = said();
		});
	}

	start(): Promise<void> {
		return this.#begin();
	}

	/** Resumes the run, or restarts it if it was hit before it wrote anything. */
	async resume(): Promise<void> {
		await this.#begin(...((await hasRecord(this.run)) ? ['--resume'] : []));
	}

	async startTwice(): Promise<string | null> {
		const { child, said } = this.#spawn('--resume');
		const code = await new Promise((resolve) => child.once('close', resolve));
		return code === 2 ? said() : null;
	}

	async isOver(): Promise<boolean> {
		const child = this.#child;
		if (child === null || child.exitCode !== null || child.signalCode !== null) return true;
		const record = await readRecord(this.run).catch(() => null);
		// A run pauses itself if rewards fail or the disk is full; continue it as a user would.
		if (record?.status === 'paused' && record.pause) {
			const client = await connectRun(this.run, record, 'faults').catch(() => null);
			await client?.request('run/continue', {}).catch(() => undefined);
			client?.dispose();
		}
		return false;
	}

	async isComplete(): Promise<boolean> {
		return (await hasRecord(this.run)) && (await readRecord(this.run)).status === 'finished';
	}

	async outcome(): Promise<unknown> {
		// Which checkpoints are kept depends on where the run was resumed.
		const { checkpoints: _, ...outcome } = await readOutcome(this.run);
		return outcome;
	}

	async reason(): Promise<string> {
		const record = await readRecord(this.run).catch((error: unknown) => String(error));
		const result = typeof record === 'string' ? record : `${record.status} ${record.error?.message ?? ''}`;
		return `${result} ${this.#said.trim().slice(-500)}`.trim();
	}
}

function runKind(
	name: string,
	roles: readonly Role[],
	program: string,
	small: (random: Random) => SmallRecipe,
): WorkKind {
	return {
		name,
		roles,
		async make(folder, seed, environment) {
			const random = Random.of('faults', name, seed);
			const more = { seed: seed + 1, checkpoint: { every: 2 + random.int(5), keep: 2 } };
			const { folder: run } = await prepareRun(await writeRecipe(folder, small(random), more));
			return new RunWork(folder, await withOneThread(run), program, environment);
		},
	};
}

export const embeddedKinds: readonly WorkKind[] = Object.entries(embeddedRecipes).map(([name, small]) =>
	runKind(name, name === 'reward files' ? ['engine', 'rewards'] : ['engine'], builtProgram('dist/engine.js'), small),
);

export const pytorchKind: WorkKind = runKind(
	'pytorch',
	['engine', 'trainer'],
	builtProgram('dist/driver.js'),
	pytorchRecipe,
);

/** Waits until no process with a role is running. Returns false on timeout. */
export async function gone(folder: string, role: Role, milliseconds: number): Promise<boolean> {
	for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(50)) {
		if (!(await processesIn(folder)).some((one) => one.role === role)) return true;
	}
	return false;
}
