/** Runs one test file in a worker: measures its CPU time and checks that it restores the process state. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome, Usage } from './outcome.ts';
import { ownUsage, usageSince } from './usage.ts';

const environment = { ...process.env };
const folder = process.cwd();
/** Resources that keep the worker alive on their own: its channel to the runner and its standard streams. */
let idleResources: readonly string[] = [];
let closingMs = 0;
let usageBefore: Usage = { own: 0, children: 0 };
let finished = true;

/**
 * Gives the file a separate temporary folder. The name is random: process ids are reused during a run, and the folder
 * of an earlier worker with the same id still exists.
 * @param closing time in milliseconds that resources may take to close after its last test
 */
export function startFile(closing: number): void {
	closingMs = closing;
	finished = false;
	process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'f-'));
	// Keep user data out of the developer's own home folder.
	process.env.XDG_DATA_HOME = join(process.env.TMPDIR, 'share');
	usageBefore = ownUsage();
	idleResources = process.getActiveResourcesInfo();
}

/** Whether `finishFile` was called for the file that was started last. */
export const isFinished = (): boolean => finished;

/** @returns the file's CPU time, and a failure if it leaves resources open */
export async function finishFile(): Promise<{ readonly usage: Usage; readonly leak?: Outcome }> {
	finished = true;
	const open = await stillOpen();
	restoreProcess();
	const usage = usageSince(usageBefore);
	if (open.length === 0) return { usage };
	const message = `The file leaves resources open that keep a process alive: ${open.join(', ')}`;
	return { usage, leak: { name: 'the file', status: 'failed', milliseconds: 0, failure: { message, stack: '' } } };
}

/**
 * Returns the types of resources opened since the file started. Ignores timers, because a timer restarted by an earlier
 * file cannot be distinguished from one started by this file.
 */
async function stillOpen(): Promise<string[]> {
	for (const end = performance.now() + closingMs; ; ) {
		const open = process.getActiveResourcesInfo().filter((type) => type !== 'Timeout' && type !== 'Immediate');
		for (const type of idleResources) {
			const index = open.indexOf(type);
			if (index >= 0) open.splice(index, 1);
		}
		if (open.length === 0 || performance.now() > end) return open;
		await new Promise((resolve) => setTimeout(resolve, 20).unref());
	}
}

/** Restores the environment and the working directory for the next file. */
function restoreProcess(): void {
	process.chdir(folder);
	for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
	Object.assign(process.env, environment);
}
