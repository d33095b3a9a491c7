import { type IsolationAttempt, type IsolationReport, isolationAreas } from '../protocol/isolation.ts';
import { findSandbox } from '../rewards/sandbox/findSandbox.ts';
import { checkIsolation } from '../rewards/sandbox/isolationCheck/checkIsolation.ts';
import { parseSandboxMode, sandboxVariable } from '../rewards/sandbox/sandboxMode.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { text } from './options.ts';
import { defineVerb } from './verb.ts';

export const sandboxCheckVerb = defineVerb({
	name: 'sandbox-check',
	group: 'Setup',
	summary: 'Try to escape the sandbox for model-written code, and report which attempts were blocked.',
	options: {
		sandbox: text(
			'MODE',
			`auto, bubblewrap, container:IMAGE, or unsafe (default: the environment variable ${sandboxVariable}, else auto).`,
		),
	},
	async run({ values, output }) {
		const abort = new AbortController();
		const stop = onInterrupt(() => abort.abort());
		try {
			const sandbox = await findSandbox(parseSandboxMode(values.sandbox ?? process.env[sandboxVariable]));
			output.line(printable(sandbox.description));
			for (const gap of sandbox.gaps) output.line(printable(`Missing: ${gap}`));
			const report = await checkIsolation(sandbox, {
				signal: abort.signal,
				onAttempt: (attempt, done, total) => output.object({ kind: 'attempt', done, total, attempt }),
			});
			output.object({ kind: 'report', report });
			for (const line of table(report)) output.line(line);
			return report.failed === 0 && report.untried === 0 ? 0 : 1;
		} finally {
			stop();
		}
	},
});

const words: Readonly<Record<IsolationAttempt['outcome'], string>> = {
	held: 'held',
	escaped: 'ESCAPED',
	skipped: 'skipped',
	untried: 'not tested',
};

function table({ attempts, held, failed, skipped, untried, durationMs }: IsolationReport): string[] {
	const width = Math.max(...attempts.map(({ id }) => id.length));
	const lines = isolationAreas.flatMap((area) => {
		const rows = attempts.filter((attempt) => attempt.area === area);
		if (rows.length === 0) return [];
		return [
			'',
			area,
			...rows.map(
				({ id, outcome, evidence }) =>
					`  ${id.padEnd(width)}  ${words[outcome].padEnd(9)}  ${printable(evidence.length > 120 ? `${evidence.slice(0, 119)}…` : evidence)}`,
			),
		];
	});
	const rest = `${untried === 0 ? '' : `, ${untried} not tested`}${skipped === 0 ? '' : `, ${skipped} skipped`}`;
	return [...lines, '', `${held} blocked, ${failed} not blocked${rest} (${(durationMs / 1000).toFixed(1)} s)`];
}
