import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import type { Sandbox, SandboxCommand, SandboxProcess } from './sandbox.ts';

export interface ServedAnswer {
	/** Serves the answer's functions on stdin and stdout, with one line of JSON per call. */
	readonly answer: SandboxCommand;
	/** Sends requests on stdout, receives replies on stdin, and writes verdicts to stderr, each as one line of JSON. */
	readonly checker: SandboxCommand;
	/** Maximum duration of a call, in milliseconds. */
	readonly callMs: number;
	/** Returns whether all verdicts after this one are irrelevant. */
	isEnough(verdict: TestVerdict): boolean;
}

const verdictSchema = v.object({
	test: v.pipe(v.number(), v.integer()),
	parts: v.pipe(v.number(), v.integer(), v.minValue(1)),
	passed: v.pipe(v.number(), v.integer(), v.minValue(0)),
	why: v.nullable(v.string()),
});
export type TestVerdict = v.InferOutput<typeof verdictSchema>;

const lineSchema = v.union([verdictSchema, v.object({ load: v.string() }), v.object({ fault: v.string() })]);

export interface ServedVerdicts {
	readonly tests: readonly TestVerdict[];
	/** Reason why the answer could not be loaded, or null. */
	readonly load: string | null;
	/** Reason why the tests cannot run with any answer, or null. */
	readonly fault: string | null;
	/** Reason why we killed the answer's process, or null. */
	readonly why: string | null;
}

const newline = 10;

/**
 * Connects an answer to the tests that check it. They run in two sandboxes that share only two pipes. Verdicts come
 * from the checker's own stream, which the answer's process cannot access.
 */
export async function serveAnswer(
	sandbox: Sandbox,
	{ answer, checker, callMs, isEnough }: ServedAnswer,
	signal?: AbortSignal,
): Promise<ServedVerdicts> {
	const served = sandbox.start(answer, signal);
	let checking: SandboxProcess;
	try {
		checking = sandbox.start(checker, signal);
	} catch (error) {
		served.kill();
		throw error;
	}
	let late = false;
	let timer: NodeJS.Timeout | undefined;
	let enough = false;
	const tests: TestVerdict[] = [];
	let load: string | null = null;
	let fault: string | null = null;

	// There is only one call at a time: one line is sent, then one line is received.
	checking.stdout.on('data', (chunk: Buffer) => {
		if (!chunk.includes(newline)) return;
		clearTimeout(timer);
		timer = setTimeout(() => {
			late = true;
			served.kill();
		}, callMs);
	});
	served.stdout.on('data', (chunk: Buffer) => {
		if (chunk.includes(newline)) clearTimeout(timer);
	});
	checking.stdout.pipe(served.stdin);
	served.stdout.pipe(checking.stdin);
	served.stderr.resume();

	let pending = '';
	checking.stderr.setEncoding('utf8');
	checking.stderr.on('data', (text: string) => {
		pending += text;
		for (let end = pending.indexOf('\n'); end >= 0; end = pending.indexOf('\n')) {
			const verdict = readVerdict(pending.slice(0, end));
			pending = pending.slice(end + 1);
			if (verdict === null || enough) continue;
			if ('load' in verdict) load ??= verdict.load;
			if ('fault' in verdict) fault ??= verdict.fault;
			if ('test' in verdict) {
				tests.push(verdict);
				enough = isEnough(verdict);
				if (enough) checking.kill();
			}
		}
	});

	try {
		// When the answer ends, the checker sees end-of-file on its input.
		const answered = served.ended.then((outcome) => {
			checking.stdin.end();
			return outcome;
		});
		answered.catch(() => checking.kill());
		const checked = await checking.ended;
		served.kill();
		const outcome = await answered;
		if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
		const why = late ? 'a call timed out' : (limitWords[outcome.end] ?? null);
		return { tests, load: load ?? (tests.length === 0 ? (limitWords[checked.end] ?? null) : null), fault, why };
	} finally {
		clearTimeout(timer);
		served.kill();
		checking.kill();
	}
}

const limitWords: Readonly<Record<string, string>> = {
	wall: 'the answer timed out',
	cpu: 'the answer timed out',
	memory: 'the answer exceeded the memory limit',
	processes: 'the answer started too many processes',
	output: 'the answer produced too much output',
};

function readVerdict(line: string): v.InferOutput<typeof lineSchema> | null {
	try {
		const decoded = v.safeParse(lineSchema, JSON.parse(line));
		return decoded.success ? decoded.output : null;
	} catch {
		return null;
	}
}
