import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { InitialRecord } from '../../../src/runs/runWriter.ts';

export const initialRecord: InitialRecord = {
	id: 'run-1',
	name: 'addition',
	engine: 'embedded',
	stage: 'sft',
	totalSteps: 100,
	device: 'cpu',
	parent: null,
	seeds: { recipe: 1 },
	versions: {},
	hashes: { recipe: 'r', dataset: 'd', rewards: 'w' },
};

const cleanups = new WeakMap<TestContext, (() => Promise<void>)[]>();

/**
 * Registers cleanup that must finish before the test's temporary folder is removed; hooks run in registration order.
 */
export function beforeRemoval(context: TestContext, cleanup: () => Promise<void>): void {
	cleanups.set(context, [...(cleanups.get(context) ?? []), cleanup]);
}

async function cleanUp(context: TestContext): Promise<void> {
	const mine = cleanups.get(context) ?? [];
	cleanups.delete(context);
	for (const cleanup of mine) await cleanup();
}

/** Creates a folder that is removed after the test, once nothing writes to it. */
export async function temporaryFolder(context: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'reasoning-lab-test-'));
	context.after(async () => {
		await cleanUp(context);
		await rm(folder, { recursive: true, force: true });
	});
	return folder;
}

export interface Helper {
	readonly process: ChildProcess;
	/** Resolves with the next line of output. */
	line(): Promise<string>;
	ended: Promise<number | null>;
}

/**
 * Runs a module from this folder in a separate process, which ends no later than the test's temporary folder is
 * removed.
 */
export function startHelper(context: TestContext, file: string, ...args: string[]): Helper {
	const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	context.after(() => cleanUp(context));
	const lines: string[] = [];
	const waiting: ((line: string) => void)[] = [];
	let rest = '';
	child.stdout.setEncoding('utf8');
	child.stdout.on('data', (text: string) => {
		const parts = (rest + text).split('\n');
		rest = parts.pop() ?? '';
		for (const part of parts) {
			const next = waiting.shift();
			if (next) next(part);
			else lines.push(part);
		}
	});
	const ended = new Promise<number | null>((resolve) => {
		child.on('exit', (code) => {
			for (const next of waiting.splice(0)) next('<ended>');
			resolve(code);
		});
	});
	const helper: Helper = {
		process: child,
		ended,
		line: () => {
			const line = lines.shift();
			if (line !== undefined) return Promise.resolve(line);
			return new Promise((resolve) => waiting.push(resolve));
		},
	};
	beforeRemoval(context, async () => {
		child.kill('SIGKILL');
		await ended;
	});
	return helper;
}

export function metricsLine(step: number, values: Record<string, number | null> = {}) {
	return { step, time: 1000 + step, stage: 'grpo', values: { reward: step / 100, ...values } };
}

export function rollout(step: number, index: number) {
	return {
		step,
		stage: 'grpo',
		group: 0,
		index,
		prompt: '1+2=',
		completion: `<think>\u2028${index}</think>`,
		rewards: { accuracy: 1, format: null },
		reward: 1,
		advantage: 0.5,
		truncated: false,
		tokens: { text: ['a', 'b'], logprob: [-0.5, -0.25] },
	};
}
