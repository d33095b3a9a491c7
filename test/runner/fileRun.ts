/** One test file inside a worker: what it costs, and that it leaves the process as it found it. */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome, Usage } from './outcome.ts';
import { ownUsage, usageSince } from './usage.ts';

const environment = { ...process.env };
const folder = process.cwd();
/** What keeps the worker alive by itself: its channel to the runner and its standard streams. */
let idleResources: readonly string[] = [];
let closingMs = 0;
let usageBefore: Usage = { own: 0, children: 0 };

/**
 * @param name of a folder for its temporary files, which are then not taken for those of a file that runs beside it
 * @param closing milliseconds that what it has opened may take to close after its last test
 */
export function startFile(name: string, closing: number): void {
	closingMs = closing;
	process.env.TMPDIR = join(tmpdir(), name);
	mkdirSync(process.env.TMPDIR);
	// What is kept for a user is kept there, not for the person who runs the tests.
	process.env.XDG_DATA_HOME = join(process.env.TMPDIR, 'share');
	usageBefore = ownUsage();
	idleResources = process.getActiveResourcesInfo();
}

/** @returns what the file has cost, and a failure where it leaves something open */
export async function finishFile(): Promise<{ readonly usage: Usage; readonly leak?: Outcome }> {
	const open = await stillOpen();
	restoreProcess();
	const usage = usageSince(usageBefore);
	if (open.length === 0) return { usage };
	const message = `The file leaves resources open that keep a process alive: ${open.join(', ')}`;
	return { usage, leak: { name: 'the file', status: 'failed', milliseconds: 0, failure: { message, stack: '' } } };
}

/**
 * Types of the resources that are open now and were not before the file. Timers do not count: one that an earlier file has
 * started again cannot be told from one of this file.
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

/** The next file finds the environment and the working folder as the first one did. */
function restoreProcess(): void {
	process.chdir(folder);
	for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
	Object.assign(process.env, environment);
}
