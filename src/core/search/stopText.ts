import type { StopReason } from '../../protocol/treeLog.ts';

/** Display text for each stop reason. */
export const stopText: Readonly<Record<StopReason, string>> = {
	complete: 'completed',
	solved: 'stopped early: answer found',
	exhausted: 'nothing left to expand',
	'no-improvement': 'no further improvement',
	nodes: 'node budget exhausted',
	tokens: 'token budget exhausted',
	simulations: 'simulation budget exhausted',
	seconds: 'time limit reached',
	cost: 'cost budget exhausted',
	stopped: 'stopped by user',
	policy: 'policy failed',
	scorer: 'scorer failed',
	environment: 'environment failed',
};
