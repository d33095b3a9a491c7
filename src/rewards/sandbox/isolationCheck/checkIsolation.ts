import * as v from 'valibot';
import { Failure } from '../../../base/failure.ts';
import type { IsolationAttempt, IsolationReport } from '../../../protocol/isolation.ts';
import { readHarness } from '../harnessFiles.ts';
import type { Sandbox, SandboxLimits, SandboxOutput } from '../sandbox.ts';
import { type EscapeAttempt, type Said, untried, type Verdict } from './escapeAttempt.ts';
import { escapeAttempts } from './isolationAttempts.ts';
import { makeSurroundings, type Surroundings } from './surroundings.ts';

export interface CheckOptions {
	/** Folder that the sandbox must not expose. Default: the current folder. */
	readonly workspace?: string;
	/** Ids of the attempts to make. Default: all. */
	readonly only?: readonly string[];
	readonly signal?: AbortSignal;
	onAttempt?(attempt: IsolationAttempt, done: number, total: number): void;
}

/** Limits high enough that an attempt fails only because of what it tries, not because of another limit. */
const wide: Partial<SandboxLimits> = {
	wallMs: 15_000,
	cpuSeconds: 30,
	memoryMb: 3000,
	fileMb: 300,
	diskMb: 64,
	outputBytes: 4 << 20,
	processes: 400,
};

/** First line of output from an attempt that has started. */
const startedLine = '{"started": true}\n';

const saidSchema = v.object({
	escaped: v.optional(v.boolean()),
	skipped: v.optional(v.boolean()),
	made: v.optional(v.number()),
	evidence: v.string(),
});

/**
 * Tries to escape from a sandbox, with a fresh sandbox for each attempt, and reports the results. Requires Python in
 * the sandbox. Fails with `unavailable` if nothing can run in it, and with `cancelled` when the signal is aborted.
 * Cleans up completely.
 */
export async function checkIsolation(sandbox: Sandbox, options: CheckOptions = {}): Promise<IsolationReport> {
	const missing = sandbox.missing('python');
	if (missing !== null) {
		throw new Failure('unavailable', `Cannot check the isolation: ${missing}`, 'Install Python 3.');
	}
	const started = performance.now();
	const script = await readHarness('escapes.py');
	const chosen = escapeAttempts.filter(({ id }) => options.only?.includes(id) ?? true);
	const surroundings = await makeSurroundings(options.workspace ?? process.cwd());
	const results = new Map<string, IsolationAttempt>();
	try {
		const one = async (attempt: EscapeAttempt) => {
			const result = await tryOne(sandbox, script, attempt, surroundings, options.signal);
			results.set(attempt.id, result);
			options.onAttempt?.(result, results.size, chosen.length);
		};
		const beside = chosen.filter(({ alone }) => !alone);
		// Run a few attempts concurrently, because most of them wait for a process to start.
		const next = beside.values();
		await Promise.all(
			Array.from({ length: 3 }, async () => {
				for (const attempt of next) await one(attempt);
			}),
		);
		for (const attempt of chosen.filter(({ alone }) => alone)) await one(attempt);
	} finally {
		await surroundings.remove();
	}
	const attempts = chosen.flatMap(({ id }) => results.get(id) ?? []);
	const count = (counted: IsolationAttempt['outcome']) => attempts.filter(({ outcome }) => outcome === counted).length;
	return {
		format: 1,
		kind: sandbox.kind,
		description: sandbox.description,
		gaps: [...sandbox.gaps],
		attempts,
		held: count('held'),
		failed: count('escaped'),
		skipped: count('skipped'),
		untried: count('untried'),
		durationMs: performance.now() - started,
	};
}

async function tryOne(
	sandbox: Sandbox,
	script: string,
	attempt: EscapeAttempt,
	surroundings: Surroundings,
	signal: AbortSignal | undefined,
): Promise<IsolationAttempt> {
	const { id, area, tried, expected } = attempt;
	const started = performance.now();
	const about = { id, area, tried, expected };
	if (sandbox.kind === 'unsafe' && !attempt.mild) {
		return { ...about, outcome: 'skipped', evidence: 'not attempted without a sandbox', durationMs: 0 };
	}
	const verdict = await judged(sandbox, script, attempt, surroundings, signal);
	return {
		...about,
		outcome: verdict.outcome,
		evidence: verdict.evidence.slice(0, 400),
		durationMs: performance.now() - started,
	};
}

async function judged(
	sandbox: Sandbox,
	script: string,
	attempt: EscapeAttempt,
	surroundings: Surroundings,
	signal: AbortSignal | undefined,
): Promise<Verdict> {
	let run: SandboxOutput;
	try {
		run = await sandbox.run(
			{
				program: 'python',
				args: ['-s', '-B', 'escapes.py', attempt.id],
				files: { 'escapes.py': script, 'about.json': JSON.stringify(surroundings.about) },
				limits: { ...wide, ...attempt.limits },
			},
			signal,
		);
	} catch (error) {
		const failure = Failure.from(error);
		if (failure.reason === 'cancelled') throw failure;
		return { outcome: 'untried', evidence: failure.message };
	}
	// An attempt that never started was not stopped by the protection being tested.
	if (!run.stdout.startsWith(startedLine)) return untried(run);
	const said = lastSaid(run.stdout);
	if (said?.skipped) return { outcome: 'skipped', evidence: said.evidence };
	if (attempt.judge !== undefined) return attempt.judge(said, run, surroundings);
	if (said?.escaped === undefined) return untried(run);
	return { outcome: said.escaped ? 'escaped' : 'held', evidence: said.evidence };
}

function lastSaid(stdout: string): Said {
	const line = stdout.trim().split('\n').at(-1) ?? '';
	try {
		const decoded = v.safeParse(saidSchema, JSON.parse(line));
		return decoded.success ? decoded.output : null;
	} catch {
		return null;
	}
}
