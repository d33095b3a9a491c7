import type { EnvironmentVerification } from '../../protocol/environmentVerification.ts';
import type { Episode } from '../../protocol/episode.ts';
import { formatValue } from '../reward/verification/verificationSummary.ts';
import { sameReward } from './episodeStatistics.ts';

/** Tests for every environment, in display order. Labeled episodes are additional tests. */
export const environmentTests = [
	{ id: 'setup', label: 'Setup: every episode starts' },
	{ id: 'gold', label: 'Gold: solutions succeed' },
	{ id: 'idle', label: 'Idle: doing nothing earns less than the solutions' },
] as const;
export type EnvironmentTestId = (typeof environmentTests)[number]['id'];

export interface TestOutcome {
	readonly outcome: 'passed' | 'failed' | 'skipped';
	/** Why the test failed or was skipped. */
	readonly message?: string;
	readonly expected?: string;
	readonly actual?: string;
	/** 1-based line in the environment file. */
	readonly line?: number;
}

const passed: TestOutcome = { outcome: 'passed' };

/** Returns the outcome of an environment test, based on the environment's verification. */
export function environmentTest(id: EnvironmentTestId, verification: EnvironmentVerification): TestOutcome {
	switch (id) {
		case 'setup':
			return setup(verification);
		case 'gold':
			return gold(verification);
		case 'idle':
			return idle(verification);
	}
}

/** Returns the outcome of the labeled episode at a line, or undefined if there is none. */
export function labeledTest(line: number, { labeled }: EnvironmentVerification): TestOutcome | undefined {
	const found = labeled.find((one) => one.line === line);
	if (found === undefined || found.difference === null) return found && passed;
	const { message, expected, actual, line: at } = found.difference;
	return {
		...{ outcome: 'failed', message: `${message}.` },
		...(expected === undefined || actual === undefined ? {} : { expected, actual }),
		...(at === undefined ? {} : { line: at }),
	};
}

function setup({ episodes, environment }: EnvironmentVerification): TestOutcome {
	const bad = episodes.find(({ error }) => error?.during === 'reset');
	return bad === undefined ? passed : failed(bad, environment.places.reset?.line ?? environment.location.line);
}

function gold({ policies, episodes, environment, findings }: EnvironmentVerification): TestOutcome {
	const statistics = policies.find(({ policy }) => policy === 'gold');
	if (statistics === undefined) return { outcome: 'skipped', message: 'No row has a solution in the column "calls".' };
	const line = environment.places.get_reward?.line ?? environment.location.line;
	const bad = episodes.find(({ policy, error }) => policy === 'gold' && error !== undefined);
	if (bad !== undefined) return failed(bad, line);
	const finding = findings.find(({ kind }) => kind === 'gold-fails');
	if (finding !== undefined) return { outcome: 'failed', message: finding.message, line: finding.line };
	if (statistics.judged === 0) return { outcome: 'skipped', message: 'The solutions have no reward.' };
	if (statistics.successes === statistics.judged) return passed;
	return { outcome: 'failed', message: `${statistics.successes} of ${statistics.judged} solutions succeed.`, line };
}

function idle({ policies, environment }: EnvironmentVerification): TestOutcome {
	const mean = (name: string) => policies.find(({ policy }) => policy === name)?.mean ?? null;
	const [needed, earned] = [mean('gold'), mean('idle')];
	if (needed === null || earned === null) {
		return {
			outcome: 'skipped',
			message: 'There are no rewards to compare between solutions and idle episodes.',
		};
	}
	if (earned < needed - sameReward) return passed;
	return {
		outcome: 'failed',
		message: `Doing nothing earns ${formatValue(earned)} on average, as much as the solutions (${formatValue(needed)}).`,
		line: environment.places.get_reward?.line ?? environment.location.line,
	};
}

function failed({ row, error }: Episode, line: number): TestOutcome {
	const message = `Row ${row + 1}: ${error?.during} failed: ${error?.message}`;
	return { outcome: 'failed', message, line: error?.line ?? line };
}
