import { createHash } from 'node:crypto';
import { Failure } from '../../base/failure.ts';
import type { AgentTool } from '../../core/reflexion/agentTool.ts';
import type { ToolSpecOf } from '../../protocol/searchSpec.ts';
import { findSandbox } from '../../rewards/sandbox/findSandbox.ts';
import type { Sandbox, SandboxEnd } from '../../rewards/sandbox/sandbox.ts';
import { parseSandboxMode, sandboxVariable } from '../../rewards/sandbox/sandboxMode.ts';

const longestCode = 40_000;
const longestOutput = 4000;

const languages = {
	python: { program: 'python', file: 'program.py', flags: ['-s', '-B'], memoryMb: 256 },
	javascript: { program: 'node', file: 'program.js', flags: ['--disable-warning=ExperimentalWarning'], memoryMb: 320 },
} as const;

const endings: Partial<Readonly<Record<SandboxEnd, string>>> = {
	signal: 'it was terminated by a signal',
	wall: 'it exceeded the time limit',
	cpu: 'it exceeded the time limit',
	memory: 'it exceeded the memory limit',
	processes: 'it exceeded the process limit',
	output: 'it exceeded the output limit',
};

/**
 * Tool that runs the model's programs in the sandbox. If there is no sandbox, calls are refused. Fails with `invalid`
 * for an invalid mode.
 */
export function codeTool(
	name: string,
	spec: ToolSpecOf<'code'>,
	environment: Readonly<Record<string, string | undefined>>,
	signal: AbortSignal,
): AgentTool {
	const { program, file, flags, memoryMb } = languages[spec.language];
	// An invalid mode is reported immediately, whereas a missing sandbox is reported only when a program is about to run.
	const mode = parseSandboxMode(environment[sandboxVariable]);
	let sandbox: Promise<Sandbox> | null = null;
	return {
		name,
		description: `runs a ${spec.language === 'python' ? 'Python' : 'JavaScript'} program that uses only standard modules, without files or network: write the whole program; its output is the result.`,
		searches: false,
		async run(query) {
			const code = unfenced(query);
			if (code.trim() === '') throw new Failure('invalid', 'The program is empty.');
			if (code.length > longestCode)
				throw new Failure('invalid', `The program is longer than ${longestCode} characters.`);
			sandbox ??= findSandbox(mode);
			const found = await sandbox.catch((error: unknown) => {
				// Do not retry, because the sandbox would still be missing.
				throw new Failure('unsupported', Failure.from(error).message);
			});
			const missing = found.missing(program);
			if (missing !== null) throw new Failure('unsupported', `The program cannot run: ${missing}`);
			const { end, status, stdout, stderr } = await found.run(
				{
					program,
					args: [...flags, file],
					files: { [file]: code },
					limits: {
						wallMs: spec.timeoutSeconds * 1000,
						cpuSeconds: Math.ceil(spec.timeoutSeconds),
						memoryMb,
						outputBytes: 256 << 10,
						processes: 24,
					},
				},
				signal,
			);
			const why = end === 'exited' ? (status === 0 ? null : lastLine(stderr)) : (endings[end] ?? 'it was killed');
			if (why !== null) {
				const printed = stdout.trim() === '' ? '' : ` Before that it printed: ${cut(stdout.trim(), 500)}`;
				throw new Failure('invalid', `The program failed: ${why}.${printed}`);
			}
			const output = cut(stdout.trim(), longestOutput);
			if (output === '') throw new Failure('invalid', 'The program printed nothing: print the result.');
			const hash = createHash('sha256').update(code).digest('hex').slice(0, 8);
			return {
				sources: [{ source: `${name}:${hash}`, title: cut(code.trim().split('\n', 1)[0] ?? '', 80), text: output }],
			};
		},
	};
}

/** Removes the code fences that models put around code. */
function unfenced(query: string): string {
	return /^\s*```[\w+-]*\r?\n([\s\S]*?)\r?\n?```\s*$/.exec(query)?.[1] ?? query;
}

const cut = (text: string, limit: number): string => (text.length > limit ? `${text.slice(0, limit)}…` : text);
const lastLine = (text: string): string =>
	cut(text.trim().split('\n').at(-1)?.trim() || 'no message', 300).replace(/\.$/, '');
