import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatCount, formatCounted } from '../../base/format.ts';
import { describeExpectation } from '../../core/reward/verification/labeledCase.ts';
import type { AuditFinding, ProbeOutcome } from '../../protocol/audit.ts';
import type { VerifiedRow } from '../../protocol/verification.ts';
import { rowsOfReward } from '../../rewards/verificationPlan.ts';
import type { RewardVerifications } from '../rewards/rewardVerifications.ts';
import { displayText } from '../runView.ts';
import { coverageOf } from './rewardCoverage.ts';
import type { RewardDebugger } from './rewardDebugger.ts';
import { terminalLine } from './terminalText.ts';
import type { TestItems, TestNode } from './testItems.ts';

interface Needs {
	readonly items: TestItems;
	readonly verifications: RewardVerifications;
	readonly debugging: RewardDebugger;
}

type Chosen<K extends TestNode['kind']> = {
	readonly item: vscode.TestItem;
	readonly node: Extract<TestNode, { kind: K }>;
};

interface Asked {
	readonly file: string;
	readonly reward: string;
	readonly cases: Chosen<'case'>[];
	readonly probes: Chosen<'probe'>[];
}

/** Runs reward tests (labeled cases and audit probes), using the same verification as the editor. */
export class TestRunner {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/** Runs tests. Each test gets a result unless the run is canceled. */
	async run(
		run: vscode.TestRun,
		tests: readonly vscode.TestItem[],
		token: vscode.CancellationToken,
		{ coverage = false } = {},
	): Promise<void> {
		const abort = new AbortController();
		const listener = token.onCancellationRequested(() => abort.abort());
		for (const test of tests) run.enqueued(test);
		try {
			for (const asked of this.#group(tests)) {
				if (abort.signal.aborted) break;
				await this.#runReward(run, asked, abort.signal, coverage);
			}
		} finally {
			listener.dispose();
		}
	}

	/** Debugs tests one at a time. Probes cannot be debugged because they consist of many completions. */
	async debug(run: vscode.TestRun, tests: readonly vscode.TestItem[], token: vscode.CancellationToken): Promise<void> {
		for (const { file, reward, cases, probes } of this.#group(tests)) {
			for (const { item } of probes) run.skipped(item);
			for (const { item, node } of cases) {
				if (token.isCancellationRequested) return;
				run.started(item);
				try {
					const { plan, runner, rewards } = await this.#needs.verifications.session(file).open(casesAlone);
					runner.dispose();
					const names = rewards.map(({ name }) => name);
					const row = rowsOfReward(plan, reward, names).find(({ place }) => place?.line === node.line);
					if (row === undefined) {
						run.errored(item, new vscode.TestMessage('The case no longer exists in its file.'));
						continue;
					}
					const asked = { file, reward, row: row.row, label: row.label };
					const said = await this.#needs.debugging.debugged(asked).done;
					if (said === null) run.skipped(item);
					else await this.run(run, [item], token);
				} catch (error) {
					run.errored(item, new vscode.TestMessage(displayText(Failure.from(error).toString(), 2000)));
				}
			}
		}
	}

	#group(tests: readonly vscode.TestItem[]): Asked[] {
		const groups = new Map<string, Asked>();
		for (const item of tests) {
			const node = this.#needs.items.node(item);
			if (node?.kind !== 'case' && node?.kind !== 'probe') continue;
			const key = `${node.file}#${node.reward}`;
			const group = groups.get(key) ?? { file: node.file, reward: node.reward, cases: [], probes: [] };
			groups.set(key, group);
			if (node.kind === 'case') group.cases.push({ item, node });
			else group.probes.push({ item, node });
		}
		return [...groups.values()];
	}

	async #runReward(run: vscode.TestRun, asked: Asked, signal: AbortSignal, coverage: boolean): Promise<void> {
		const { file, reward, cases, probes } = asked;
		const all = [...cases, ...probes];
		const started = performance.now();
		for (const { item } of all) run.started(item);
		try {
			if (cases.length > 0) await this.#runCases(run, asked, signal, coverage, started);
			if (probes.length > 0) await this.#runProbes(run, asked, signal);
		} catch (error) {
			if (signal.aborted) {
				for (const { item } of all) run.skipped(item);
				return;
			}
			const message = new vscode.TestMessage(displayText(Failure.from(error).toString(), 2000));
			const line = (error as { line?: unknown }).line;
			const at = typeof line === 'number' ? Math.max(0, line - 1) : 0;
			message.location = new vscode.Location(vscode.Uri.file(file), new vscode.Position(at, 0));
			for (const { item } of all) run.errored(item, message);
			run.appendOutput(`${displayText(reward, 100)}: ${message.message as string}\r\n`);
		}
	}

	async #runCases(
		run: vscode.TestRun,
		{ file, reward, cases }: Asked,
		signal: AbortSignal,
		coverage: boolean,
		started: number,
	): Promise<void> {
		const opened = await this.#needs.verifications.session(file).open(coverage ? everything : casesAlone, signal);
		try {
			const { verifications } = await opened.verifier.verify(opened.plan, opened.runner, {
				rewards: [reward],
				coverage,
				othersMs: 0,
				signal,
			});
			const [verification] = verifications;
			const milliseconds = (performance.now() - started) / Math.max(1, cases.length);
			for (const { item, node } of cases) {
				const row = verification?.rows.find((one) => one.source === 'case' && one.place?.line === node.line);
				reportResult(run, item, row, file, milliseconds);
			}
			for (const line of verification?.logs ?? []) run.appendOutput(terminalLine(line));
			if (coverage && verification?.coverage) run.addCoverage(coverageOf(file, verification.coverage));
		} finally {
			opened.runner.dispose();
		}
	}

	async #runProbes(run: vscode.TestRun, { file, reward, probes }: Asked, signal: AbortSignal): Promise<void> {
		const { auditReward, defaultAuditRows } = await import('../../rewards/auditReward.ts');
		const { plan, runner } = await this.#needs.verifications.session(file).open({ kind: 'data', cases: false }, signal);
		try {
			const { template, verify } = plan.data;
			const report = await auditReward(runner, {
				file,
				reward,
				problems: plan.problems.slice(0, defaultAuditRows),
				template,
				verify,
				probes: probes.map(({ node }) => node.probe),
				signal,
			});
			for (const { item, node } of probes) {
				const outcome = report.probes.find((one) => one.probe === node.probe);
				const finding = report.findings.find((one) => one.probe === node.probe);
				reportProbe(run, { item, node }, outcome, finding);
			}
			for (const remark of report.remarks) run.appendOutput(`${displayText(remark, 500)}\r\n`);
		} finally {
			runner.dispose();
		}
	}
}

const casesAlone = { kind: 'data', dataset: false } as const;
/** Coverage includes all lines reached by any of the data that the editor verifies with. */
const everything = { kind: 'data' } as const;

function reportResult(
	run: vscode.TestRun,
	item: vscode.TestItem,
	row: VerifiedRow | undefined,
	file: string,
	milliseconds: number,
): void {
	if (row === undefined) {
		run.errored(item, new vscode.TestMessage('The case no longer exists in its file.'));
		return;
	}
	const { error, passed, expect = null, value } = row;
	if (error !== undefined) {
		const message = new vscode.TestMessage(displayText(error.message, 2000));
		const line = Math.max(0, (error.line ?? 1) - 1);
		message.location = new vscode.Location(vscode.Uri.file(file), new vscode.Position(line, 0));
		run.errored(item, message, milliseconds);
	} else if (passed === true) {
		run.passed(item, milliseconds);
	} else {
		const expected = describeExpectation(expect);
		const words = `Expected ${expected}, but the reward is ${value}.`;
		const message = vscode.TestMessage.diff(words, expected, String(value));
		if (item.uri !== undefined && item.range !== undefined) {
			message.location = new vscode.Location(item.uri, item.range);
		}
		run.failed(item, message, milliseconds);
	}
}

function reportProbe(
	run: vscode.TestRun,
	{ item, node }: Chosen<'probe'>,
	outcome: ProbeOutcome | undefined,
	finding: AuditFinding | undefined,
): void {
	if (outcome === undefined || outcome.outcome === 'skipped') {
		if (outcome?.detail)
			run.appendOutput(`${displayText(outcome.title, 200)}: ${displayText(outcome.detail, 500)}\r\n`);
		run.skipped(item);
		return;
	}
	if (outcome.outcome === 'held') {
		run.passed(item);
		return;
	}
	if (outcome.outcome === 'error' || finding === undefined) {
		run.errored(item, new vscode.TestMessage(displayText(outcome.detail ?? 'The reward failed on this probe.', 2000)));
		return;
	}
	const [first] = finding.evidence;
	const shown =
		first === undefined
			? ''
			: `\n\nPrompt: ${displayText(first.prompt, 500)}\nCompletion: ${displayText(first.completion, 1000)}\n` +
				`This completion scores ${first.value}; a genuinely correct answer scores ${first.honest}.`;
	const message = new vscode.TestMessage(
		`${finding.title}: scores as high as a genuinely correct answer on ${formatCount(finding.fooled)} of ${formatCounted(finding.rows, 'row')} ` +
			`(severity ${finding.severity}).${shown}\n\n${finding.fix}`,
	);
	message.location = new vscode.Location(vscode.Uri.file(node.file), new vscode.Position(node.line, 0));
	run.failed(item, message);
}
