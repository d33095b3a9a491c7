import { ruleTitle } from '../../core/diagnosis/rules.ts';
import { noAlertsSummary, summaryOf } from '../../core/diagnosis/verdict.ts';
import type { DashboardAlert, DashboardAlerts } from '../../protocol/dashboardMessages.ts';
import { displayText } from '../runView.ts';
import type { DiagnosisState, StandingAlert } from './runDiagnosis.ts';

/** Maximum number of alerts shown per run. */
const limit = 500;

/** Converts a diagnosis to a dashboard message, shortening every string to a single bounded line. */
export function dashboardAlertsOf({ phase, alerts, extent }: DiagnosisState): DashboardAlerts {
	const ongoing = alerts.filter(({ holds, dismissed }) => holds && !dismissed).map(({ alert }) => alert);
	const summary =
		ongoing.length > 0
			? { kind: 'alerts' as const, text: displayText(summaryOf(ongoing), 1000) }
			: extent === null
				? null
				: noAlerts(extent);
	return { phase, alerts: alerts.slice(0, limit).map(alertOf), summary };
}

function noAlerts({ batches, unsampled }: NonNullable<DiagnosisState['extent']>): DashboardAlerts['summary'] {
	const { kind, summary } = noAlertsSummary(batches, unsampled);
	return { kind, text: summary };
}

function alertOf({ alert, holds, dismissed }: StandingAlert): DashboardAlert {
	return {
		id: alert.id.slice(0, 4096),
		title: displayText(ruleTitle(alert.rule), 100),
		level: alert.level,
		message: displayText(alert.message, 1000),
		action: alert.action === null ? null : displayText(alert.action, 1000),
		step: alert.step,
		lastStep: alert.lastStep,
		holds,
		dismissed,
		evidence: alert.evidence.slice(0, 20),
		recipe:
			alert.recipe === null
				? null
				: {
						key: displayText(keyWords(alert.recipe.path), 200),
						suggestion: displayText(alert.recipe.suggestion, 500),
						applies: (alert.recipe.edits ?? []).length > 0,
					},
	};
}

/** Formats a recipe path: ["stages", 1, "temperature"] becomes "stages[1].temperature". */
function keyWords(path: readonly (string | number)[]): string {
	return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : i === 0 ? key : `.${key}`)).join('');
}
