import type { Alert } from '../../protocol/alert.ts';
import type { EvaluationSummary } from '../../protocol/evaluation.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import { type DiagnosisRun, Row } from './diagnosisRun.ts';
import type { Look, Rule, RuleFinding, Watch } from './rule.ts';
import { rules as allRules } from './rules.ts';
import type { StepFacts } from './stepFacts.ts';

/** A rule finding, as currently reported. */
interface Found {
	alert: Alert;
	level: Alert['level'];
	edition: number | undefined;
	holds: boolean;
}

interface Working {
	readonly rule: Rule;
	readonly watch: Watch;
	/** Ids of the ongoing findings. */
	holding: readonly string[];
	/** Whether new rollouts have arrived that could serve as evidence. */
	news: boolean;
}

/** Maximum number of alerts per run. Needed because names come from the trainer, so their number is unbounded. */
const maxAlerts = 200;
/** Maximum number of evaluations queued until the metrics row for their step arrives. */
const maxWaiting = 1000;

/**
 * Stages that train by imitation or on pairs. They are excluded because nothing is sampled and entropy falls by design.
 */
const unsampled: ReadonlySet<string> = new Set([
	'pretrain',
	'sft',
	'distill',
	'dpo',
	'reward-model',
	'rejection-sampling',
]);

/**
 * Diagnoses a run incrementally from metric rows in ascending step order, held-out evaluations, and rollouts if
 * available. Add the rollout facts for a step before its metric row, so that they are known when the row is checked.
 * Memory is bounded.
 */
export class Diagnosis {
	readonly #working: Working[];
	readonly #found = new Map<string, Found>();
	#waiting: EvaluationSummary[] = [];
	#stage: string | null = null;
	#row: Row | null = null;
	/** Step of the newest row in any stage. */
	#step = 0;
	#revision = 0;
	/**
	 * Counts in the current stage: rows from sampling stages, rows with a reward, and steps with rollouts. The batch
	 * count below is for the longest stage.
	 */
	readonly #seen = { rows: 0, rewarded: 0, steps: 0 };
	#batches = 0;
	#unsampled = 0;

	constructor(run: DiagnosisRun, rules: readonly Rule[] = allRules) {
		this.#working = rules.map((rule) => ({ rule, watch: rule.watch(run), holding: [], news: false }));
	}

	/** All alerts so far, in the order they started. Resolved alerts have a `lastStep`. */
	get alerts(): readonly Alert[] {
		return [...this.#found.values()].map(({ alert }) => alert);
	}

	/** Number of generation batches in the longest sampling stage. Most rules need at least `shortRun` batches. */
	get batches(): number {
		return this.#batches;
	}

	/** Number of rows in stages that do not sample. Only their losses are checked. */
	get unsampled(): number {
		return this.#unsampled;
	}

	/** Increments whenever an alert is added, changes level, starts, or ends. */
	get revision(): number {
		return this.#revision;
	}

	/** IDs of the alerts that are ongoing at the latest step. */
	get holding(): ReadonlySet<string> {
		return new Set([...this.#found].filter(([, found]) => found.holds).map(([id]) => id));
	}

	addMetrics(lines: readonly MetricsLine[]): void {
		for (const line of lines) this.#addRow(line);
	}

	addEvaluations(summaries: readonly EvaluationSummary[]): void {
		this.#waiting.push(...summaries);
		this.#waiting.sort((a, b) => a.step - b.step);
		if (this.#waiting.length > maxWaiting) this.#waiting = this.#waiting.slice(-maxWaiting);
		this.#takeEvaluations();
	}

	#count(what: 'rows' | 'rewarded' | 'steps'): void {
		this.#seen[what]++;
		const { rows, rewarded, steps } = this.#seen;
		this.#batches = Math.max(this.#batches, rewarded > 0 ? rewarded : Math.max(rows, steps));
	}

	addStep(facts: StepFacts): void {
		this.#count('steps');
		for (const working of this.#working) {
			if (working.watch.step === undefined) continue;
			working.news = true;
			this.#take(working, working.watch.step(facts), facts.step);
		}
	}

	/** Checks a live run for conditions that depend only on time. */
	look(look: Look): void {
		for (const working of this.#working) {
			if (working.watch.look !== undefined) this.#take(working, working.watch.look(look), this.#step);
		}
	}

	#addRow(line: MetricsLine): void {
		this.#step = Math.max(this.#step, line.step);
		if (unsampled.has(line.stage)) {
			this.#unsampled++;
			this.#addUnsampled(new Row(line));
			return;
		}
		if (line.stage !== this.#stage) {
			if (this.#stage !== null) this.#beginStage();
			this.#stage = line.stage;
		}
		const row = new Row(line);
		this.#row = row;
		this.#count(row.get('reward') === null ? 'rows' : 'rewarded');
		for (const working of this.#working) {
			if (working.watch.row !== undefined) this.#take(working, working.watch.row(row), row.step);
		}
		this.#takeEvaluations();
		for (const found of this.#found.values()) {
			if (found.holds && found.alert.lastStep < row.step) found.alert = { ...found.alert, lastStep: row.step };
		}
	}

	#addUnsampled(row: Row): void {
		for (const working of this.#working) {
			if (!working.rule.everyStage || working.watch.row === undefined) continue;
			this.#take(working, working.watch.row(row), row.step);
			for (const id of working.holding) {
				const found = this.#found.get(id);
				if (found) found.alert = { ...found.alert, lastStep: Math.max(found.alert.lastStep, row.step) };
			}
		}
	}

	#beginStage(): void {
		Object.assign(this.#seen, { rows: 0, rewarded: 0, steps: 0 });
		for (const working of this.#working) {
			working.watch.stage?.();
			this.#take(working, [], this.#row?.step ?? 0);
		}
	}

	/** Passes evaluations to the rules once the training rows up to their step are known. */
	#takeEvaluations(): void {
		while (this.#waiting.length > 0) {
			const next = this.#waiting[0] as EvaluationSummary;
			if (this.#row === null || next.step > this.#row.step) return;
			this.#waiting.shift();
			for (const working of this.#working) {
				if (working.watch.evaluation !== undefined) this.#take(working, working.watch.evaluation(next), next.step);
			}
		}
	}

	#take(working: Working, holdings: readonly RuleFinding[] | undefined, step: number): void {
		if (holdings === undefined) return;
		if (holdings.length === 0 && working.holding.length === 0) return;
		const ids = holdings.map((holding) => this.#hold(working, holding, step)).filter((id) => id !== null);
		for (const id of working.holding) {
			const found = this.#found.get(id);
			if (found === undefined || ids.includes(id)) continue;
			found.holds = false;
			this.#revision++;
		}
		working.holding = ids;
		working.news = false;
	}

	#hold({ rule, news }: Working, holding: RuleFinding, step: number): string | null {
		const id = holding.about === undefined ? rule.name : `${rule.name}:${holding.about}`;
		const known = this.#found.get(id) ?? this.#renamed(rule, id);
		const lacksEvidence = news && known?.alert.evidence.length === 0;
		const isReported = known?.level === holding.level && known.edition === holding.edition;
		if (known?.holds && isReported && !lacksEvidence) return id;
		if (known === undefined && this.#found.size >= maxAlerts) return null;
		const { metrics, evidence, explains, ...content } = holding.content();
		const at = this.#row !== null && this.#row.step > step ? this.#row.step : step;
		const alert: Alert = {
			id,
			rule: rule.name,
			level: holding.level,
			step: known?.alert.step ?? at,
			lastStep: at,
			time: known?.alert.time ?? this.#row?.time ?? 0,
			cause: asCause(rule.title),
			...content,
			metrics: [...metrics],
			evidence: [...evidence],
			...(explains === undefined ? {} : { explains: [...explains] }),
		};
		this.#found.set(id, { alert, level: holding.level, edition: holding.edition, holds: true });
		if (!lacksEvidence || evidence.length > 0) this.#revision++;
		return id;
	}

	/**
	 * Returns the rule's earlier finding if it was reported under the generic id, before its subject was known. The
	 * finding is reassigned to the new id so that both remain a single alert.
	 */
	#renamed(rule: Rule, id: string): Found | undefined {
		const vague = id === rule.name ? undefined : this.#found.get(rule.name);
		if (!vague?.holds) return undefined;
		this.#found.delete(rule.name);
		return { ...vague, holds: false };
	}
}

/** Lowercases a title such as "Dead groups"; leaves "KL blow-up" unchanged. */
function asCause(title: string): string {
	return /^[A-Z][a-z]/.test(title) ? `${title[0]?.toLowerCase()}${title.slice(1)}` : title;
}

export interface WholeRun {
	readonly metrics: readonly MetricsLine[];
	readonly evaluations?: readonly EvaluationSummary[];
	/** Facts for all or some of the steps. */
	readonly steps?: readonly StepFacts[];
}

/** Returns the alerts of a completed run. */
export function diagnose(run: DiagnosisRun, { metrics, evaluations = [], steps = [] }: WholeRun): readonly Alert[] {
	const diagnosis = new Diagnosis(run);
	diagnosis.addEvaluations(evaluations);
	const facts = steps.toSorted((a, b) => a.step - b.step);
	let next = 0;
	for (const line of metrics) {
		while (next < facts.length && (facts[next] as StepFacts).step <= line.step) {
			diagnosis.addStep(facts[next++] as StepFacts);
		}
		diagnosis.addMetrics([line]);
	}
	for (; next < facts.length; next++) diagnosis.addStep(facts[next] as StepFacts);
	return diagnosis.alerts;
}
