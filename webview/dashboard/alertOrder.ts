import type { DashboardAlert } from '../../src/protocol/dashboardMessages.ts';

export interface AlertCounts {
	readonly error: number;
	readonly warning: number;
	readonly info: number;
	/** Number of alerts that have not been dismissed. */
	readonly shown: number;
	readonly dismissed: number;
}

export function countAlerts(alerts: readonly DashboardAlert[]): AlertCounts {
	const shown = alerts.filter((alert) => !alert.dismissed);
	const of = (level: DashboardAlert['level']) => shown.filter((alert) => alert.level === level).length;
	return {
		error: of('error'),
		warning: of('warning'),
		info: of('info'),
		shown: shown.length,
		dismissed: alerts.length - shown.length,
	};
}

/** "step 240, ongoing", "steps 240 to 300, resolved". */
export function whenOf({ step, lastStep, holds }: DashboardAlert): string {
	const steps = step === lastStep ? `step ${step}` : `steps ${step} to ${lastStep}`;
	return holds ? `${steps}, ongoing` : `${steps}, resolved`;
}
