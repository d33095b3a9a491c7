import { dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { clusterFindings, type FindingCluster } from '../core/reward/audit/findingClusters.ts';
import type { AuditFinding, AuditReport } from '../protocol/audit.ts';
import { auditProbes, auditReward, defaultAuditRows } from '../rewards/auditReward.ts';
import { LoadFailure } from '../rewards/loadFailure.ts';
import { openRewardHosts } from '../rewards/openRewardHosts.ts';
import { findRewardData } from '../rewards/rewardData.ts';
import type { RewardRunner } from '../rewards/rewardRunner.ts';
import { sampleProblems } from '../rewards/sampleProblems.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, integer, type Options, path, repeatable, text } from './options.ts';
import { missingArgument } from './parseArguments.ts';
import { formatNumber } from './textForms.ts';
import { defineVerb } from './verb.ts';

const options = {
	reward: text('NAME', 'Audit only this reward (default: all rewards in the file).'),
	dataset: path('FILE', 'JSONL rows to build the probes from (default: the file given by @dataset or a recipe).'),
	rows: integer('N', `Number of rows (default: ${defaultAuditRows}).`, 1),
	seed: integer('S', 'Seed for selecting the rows (default: 1).'),
	probe: repeatable(text('ID', 'Run only this probe.')),
	list: flag('List the probes without running them.'),
	python: path('PATH', 'Python interpreter for *.reward.py files (default: REASONING_LAB_PYTHON, or python3).'),
} as const satisfies Options;

export const auditVerb = defineVerb({
	name: 'audit',
	group: 'Rewards',
	arguments: [{ name: 'reward file', phrase: 'a reward file', type: 'path', optional: true }],
	summary:
		'Probe a reward for ways to score without a correct answer. Exits with status 1 if a probe succeeds or the reward fails.',
	options,
	async run({ values, positionals, output }) {
		if (values.list) return list(output);
		const [named] = positionals;
		if (named === undefined) throw missingArgument('audit', 'a reward file');
		const file = resolve(named);
		const rows = values.rows ?? defaultAuditRows;
		const seed = values.seed ?? 1;
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const { signal } = interrupt;
		const hosts = await openRewardHosts({ python: values.python ?? file.endsWith('.py') });
		try {
			const data = await findRewardData({
				file,
				folders: [...new Set([process.cwd(), dirname(file)])],
				...(values.dataset === undefined ? {} : { dataset: resolve(values.dataset) }),
			});
			const { problems, remarks } = await sampleProblems(data, { count: rows, seed, signal });
			const runner = hosts.open({ file, context: data.context });
			const reports: AuditReport[] = [];
			for (const reward of await chosenRewards(runner, values.reward, signal)) {
				const report = await auditReward(runner, {
					file,
					reward,
					problems,
					template: data.template,
					verify: data.verify,
					data: problems.length === 0 ? [] : [`${formatCounted(problems.length, 'problem')} from ${data.described}`],
					remarks: [...data.remarks, ...remarks],
					seed,
					signal,
					...(values.probe === undefined ? {} : { probes: values.probe }),
				});
				reports.push(report);
				output.object(report);
				for (const line of reportOf(report)) output.line(line);
			}
			return reports.every(isClean) ? 0 : 1;
		} catch (error) {
			// A reward that cannot be loaded fails the audit; it is not a usage error.
			if (!(error instanceof LoadFailure)) throw error;
			output.failure(error);
			return 1;
		} finally {
			hosts.dispose();
			release();
		}
	},
});

/** Without data, nothing was tested, so the report does not count as clean. */
function isClean({ rows, findings, probes }: AuditReport): boolean {
	return rows > 0 && findings.length === 0 && probes.every(({ outcome }) => outcome !== 'error');
}

function list(output: CliOutput): number {
	output.object({
		probes: auditProbes.map(({ id, title, severity, why, fix }) => ({ id, title, severity, why, fix })),
	});
	const width = Math.max(...auditProbes.map(({ id }) => id.length));
	for (const { id, title, severity } of auditProbes) {
		output.line(`${id.padEnd(width)}  ${severity.padEnd(6)}  ${title}`);
	}
	return 0;
}

/** Returns the requested reward, or all rewards in the file. Fails with `invalid` if the name does not exist. */
async function chosenRewards(runner: RewardRunner, named: string | undefined, signal: AbortSignal): Promise<string[]> {
	const names = (await runner.describe(signal)).map(({ name }) => name);
	if (named === undefined) return names;
	if (names.includes(named)) return [named];
	throw new Failure('invalid', `The file does not define a reward "${named}".`, `Use one of: ${names.join(', ')}.`);
}

const longest = 160;
/** Shortens untrusted text to a single line. */
const shorten = (text: string) => {
	const line = printable(text).replace(/\s+/g, ' ');
	return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};

const headLine = ({ severity, title, probe, fooled, rows }: AuditFinding): string =>
	`  ${severity}: ${title} (${probe}), on ${formatCount(fooled)} of ${formatCounted(rows, 'row')}`;

function findingLines(finding: AuditFinding): string[] {
	const { evidence, fix } = finding;
	const [shown] = evidence;
	const example =
		shown === undefined
			? []
			: [
					`    prompt      ${shorten(shown.prompt)}`,
					`    correct     ${shown.answer === null ? '(no correct answer)' : shorten(shown.answer)}`,
					`    completion  ${shown.completion === '' ? '(empty)' : shorten(shown.completion)}`,
					`    reward      ${formatNumber(shown.value)} (genuinely correct answer: ${formatNumber(shown.honest)})`,
				];
	return [headLine(finding), ...example, `    fix         ${fix}`];
}

/** Formats findings that share a cause: the worst one in full, the others on one line each. */
function clusterLines({ cause, findings }: FindingCluster<AuditFinding>): string[] {
	const [worst, ...others] = findings as [AuditFinding, ...AuditFinding[]];
	return [`  ${cause} (${formatCounted(findings.length, 'finding')})`, ...findingLines(worst), ...others.map(headLine)];
}

function reportOf(report: AuditReport): string[] {
	const { reward, probes, findings, remarks, rows, honest, data } = report;
	const count = (outcome: (typeof probes)[number]['outcome']) =>
		probes.filter((probe) => probe.outcome === outcome).length;
	const errors = probes.filter(({ outcome }) => outcome === 'error');
	const on = data.length === 0 ? 'no data' : data.join(' and ');
	return [
		`${reward}: ${findings.length} of ${probes.length} probes ${findings.length === 1 ? 'scores' : 'score'} as high as a genuinely correct answer (${formatNumber(honest)} on ${rows} rows)`,
		...clusterFindings(findings).flatMap(clusterLines),
		...errors.map(({ probe, title, detail }) => `  failed: ${title} (${probe}): ${shorten(detail ?? '')}`),
		`  ${count('held')} held, ${count('skipped')} skipped, ${errors.length} failed; on ${printable(on)}`,
		...remarks.map((remark) => `  ${printable(remark)}`),
	];
}
