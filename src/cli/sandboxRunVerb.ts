import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { findSandbox } from '../rewards/sandbox/findSandbox.ts';
import type { Sandbox } from '../rewards/sandbox/sandbox.ts';
import { defineVerb } from './verb.ts';

const name = v.pipe(v.string(), v.regex(/^[\w-][\w.-]{0,99}$/, 'not a file name'));

const requestSchema = v.object({
	program: v.picklist(['python', 'node']),
	args: v.pipe(v.array(v.string()), v.maxLength(100)),
	/** Text files in the working directory, by name. */
	files: v.record(name, v.string()),
	stdin: v.optional(v.string(), ''),
	/** Limit on both wall time and CPU time. */
	seconds: v.pipe(v.number(), v.minValue(0.1), v.maxValue(600)),
	memoryMb: v.pipe(v.number(), v.integer(), v.minValue(16), v.maxValue(65_536)),
});

/** Memory used by the interpreter itself, in MB. */
const overheadMb = 64;

export const sandboxRunVerb = defineVerb({
	name: 'sandbox-run',
	group: 'Setup',
	summary: 'Run programs from stdin in the sandbox, one JSON object per line (docs/sandbox.md).',
	async run({ output }) {
		let sandbox: Promise<Sandbox> | undefined;
		for await (const line of createInterface({ input: process.stdin })) {
			if (line.trim() === '') continue;
			output.summary(await answer(line, () => (sandbox ??= findSandbox())));
		}
		return 0;
	},
});

/** Runs the program in a request. Returns how it ended, or why it could not be run. */
async function answer(line: string, sandbox: () => Promise<Sandbox>): Promise<object> {
	try {
		const { program, args, files, stdin, seconds, memoryMb } = decodeOrThrow(requestSchema, parse(line), 'The request');
		const found = await sandbox();
		const missing = found.missing(program);
		if (missing !== null) throw new Failure('unavailable', missing);
		const limits = {
			wallMs: 1000 * seconds,
			cpuSeconds: Math.ceil(seconds),
			memoryMb: memoryMb + overheadMb,
			processes: 16,
		};
		const { end, status, stdout, stderr, durationMs } = await found.run({ program, args, files, stdin, limits });
		return { end, status, stdout, stderr, durationMs };
	} catch (error) {
		return { error: Failure.from(error).toString() };
	}
}

function parse(line: string): unknown {
	try {
		return parseBoundedJson(line);
	} catch {
		throw new Failure('invalid', 'The request is not valid JSON.');
	}
}
