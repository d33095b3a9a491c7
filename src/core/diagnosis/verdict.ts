import { formatCounted } from '../../base/format.ts';
import type { Alert } from '../../protocol/alert.ts';
import type { Diagnosis } from './diagnosis.ts';
import { rules } from './rules.ts';
import { limit } from './thresholds.ts';

/** Result of a diagnosis. */
export interface Verdict {
	/** `short` means that there was too little data, which is not the same as having no findings. */
	readonly kind: 'alerts' | 'clear' | 'short';
	/** One-sentence summary. */
	readonly summary: string;
	/** Alerts, most likely cause first. */
	readonly alerts: readonly Alert[];
}

const levelRank = { error: 0, warning: 1, info: 2 } as const;
const rankOf = new Map(rules.map(({ name }, i) => [name, i]));
const explainedBy = new Map(rules.map(({ name, explains = [] }) => [name, new Set(explains)]));

/**
 * Sorts alerts by likely cause: ongoing alerts first, then those that no other alert explains, then by level, then in
 * `rules` order, then by step.
 * @param holds returns whether an alert is ongoing
 */
export function rankAlerts<T>(
	items: readonly T[],
	alertOf: (item: T) => Pick<Alert, 'id' | 'rule' | 'level' | 'step' | 'lastStep' | 'explains'>,
	holds: (item: T) => boolean,
): T[] {
	const key = (item: T): number[] => {
		const alert = alertOf(item);
		const isConsequence = items.some((other) => {
			const { rule, level, step, explains } = alertOf(other);
			// An alert's own explanation takes precedence over that of its rule.
			const byRule = explainedBy.get(rule)?.has(alert.rule) === true && !alert.explains?.includes(rule);
			return (
				level !== 'info' &&
				(explains?.includes(alert.rule) === true || byRule) &&
				step <= alert.lastStep &&
				(holds(other) || !holds(item))
			);
		});
		return [
			holds(item) ? 0 : 1,
			isConsequence ? 1 : 0,
			levelRank[alert.level],
			rankOf.get(alert.rule) ?? rules.length,
			alert.step,
		];
	};
	return items
		.map((item) => ({ item, key: key(item) }))
		.sort((a, b) => a.key.map((value, i) => value - (b.key[i] as number)).find((d) => d !== 0) ?? 0)
		.map(({ item }) => item);
}

/** Summarizes ranked alerts in one sentence: the likely cause, its step, and the number of other alerts. */
export function summaryOf(ranked: readonly Alert[]): string {
	const [first, ...others] = ranked;
	if (first === undefined) return 'No issues detected.';
	const more =
		others.length === 0 ? '' : `; ${formatCounted(others.length, 'other alert ranks', 'other alerts rank')} below it`;
	return `Most likely cause: ${first.cause ?? first.rule} (since step ${first.step}${more}).`;
}

/**
 * Summarizes a run without alerts.
 * @param unsampled number of rows from stages that do not sample
 */
export function noAlertsSummary(batches: number, unsampled: number): Pick<Verdict, 'kind' | 'summary'> {
	const needed = limit('shortRun');
	if (batches >= needed) return { kind: 'clear', summary: 'No issues detected.' };
	if (batches === 0 && unsampled > 0) {
		return { kind: 'short', summary: 'No generation batches to diagnose. The only check was for NaN losses.' };
	}
	return { kind: 'short', summary: `Too few batches to diagnose (${batches} of ${needed}).` };
}

export function verdictOf(diagnosis: Pick<Diagnosis, 'alerts' | 'holding' | 'batches' | 'unsampled'>): Verdict {
	const { holding } = diagnosis;
	const alerts = rankAlerts(
		diagnosis.alerts,
		(alert) => alert,
		({ id }) => holding.has(id),
	);
	if (alerts.length > 0) return { kind: 'alerts', summary: summaryOf(alerts), alerts };
	return { ...noAlertsSummary(diagnosis.batches, diagnosis.unsampled), alerts };
}
