import { environmentSummary } from '../../core/episode/environmentSummary.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import type { InlineLine } from '../rewards/rewardWords.ts';
import { failureWords } from '../rewards/rewardWords.ts';
import { displayText } from '../runView.ts';
import type { EnvironmentState } from './environmentState.ts';

/** Returns the text shown after the class, or null if there is none. */
export function environmentInlineLine(state: EnvironmentState | undefined): InlineLine | null {
	if (state === undefined || state.phase === 'idle') return null;
	const { verification, earlierPolicy, policyName } = state;
	const parts = verification === null ? [] : environmentSummary(verification, earlierPolicy, policyName);
	const words = displayText(parts.map(({ text }) => text).join(' · '), 400);
	if (state.phase === 'running') {
		return words === '' ? { text: 'verifying…', tone: 'quiet' } : { text: `${words} · verifying…`, tone: 'stale' };
	}
	if (state.phase === 'failed') return { text: failureWords(state), tone: 'error' };
	if (state.stale) return { text: `${words} · before the last edit`, tone: 'stale' };
	const levels = new Set(parts.map(({ level }) => level));
	return { text: words, tone: levels.has('bad') ? 'error' : levels.has('notice') ? 'warning' : 'good' };
}

/** A problem to show as a diagnostic. */
export interface EnvironmentFault {
	/** Absolute. */
	readonly file: string;
	/** 1-based. */
	readonly line: number;
	readonly level: 'error' | 'warning' | 'information';
	readonly message: string;
}

const maxFaults = 50;

/** Returns the problems found by a verification, located in the environment file or its imports. */
export function environmentFaults({ file, phase, failure, verification }: EnvironmentState): EnvironmentFault[] {
	if (phase === 'failed' && failure !== null) {
		const place = failure instanceof LoadFailure ? failure : null;
		const words = place === null ? failure.toString() : `${place.detail.replace(/[.]?$/, '.')} ${place.advice ?? ''}`;
		const message = displayText(words.trim(), 600);
		return [{ file: place?.file ?? file, line: place?.line ?? 1, level: 'error', message }];
	}
	return (verification?.findings ?? []).slice(0, maxFaults).map(({ line, level, message, action, file: other }) => ({
		file: other ?? file,
		line,
		level,
		message: displayText(action === undefined ? message : `${message} ${action}`, 800),
	}));
}
