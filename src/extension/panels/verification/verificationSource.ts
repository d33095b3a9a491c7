import { toDisposable } from '../../../base/disposable.ts';
import type { Event } from '../../../base/event.ts';
import type { Failure } from '../../../base/failure.ts';
import type { AuditReport } from '../../../protocol/audit.ts';
import type { Comparison } from '../../../protocol/comparison.ts';
import type { ResultPlace, ResultStatus } from '../../../protocol/verificationMessages.ts';
import type { FileVerification, RewardResults } from '../../rewards/fileVerification.ts';
import { type Judgment, keyOfPlace } from '../../rewards/judgments.ts';

/** Data for a results panel; always complete. */
export interface VerificationState {
	readonly phase: ResultStatus['phase'];
	readonly failure: Failure | null;
	readonly stale: boolean;
	readonly shown: ShownResult;
}

export type ShownResult =
	| {
			readonly view: 'verification';
			readonly results: RewardResults | null;
			readonly caseFaults: FileVerification['caseFaults'];
	  }
	| { readonly view: 'audit'; readonly report: AuditReport | null }
	| { readonly view: 'comparison'; readonly comparison: Comparison | null };

export interface VerificationSource {
	readonly onDidChange: Event<void>;
	readonly state: VerificationState;
}

/** Access to the editor's reward verifications. */
export interface VerificationStore {
	readonly onDidChange: Event<string>;
	get(file: string): FileVerification | undefined;
}

/** Access to the editor's audits and comparisons. */
export interface JudgmentStore {
	readonly onDidChange: Event<string>;
	get(place: ResultPlace): Judgment | undefined;
}

/** Creates a source for the results of a given reward and view. */
export function verificationSource(
	place: ResultPlace,
	stores: { readonly verifications: VerificationStore; readonly judgments: JudgmentStore },
): VerificationSource {
	const { verifications, judgments } = stores;
	const key = keyOfPlace(place);
	return {
		onDidChange: (listener) => {
			const both = [
				verifications.onDidChange((file) => {
					if (file === place.file) listener();
				}),
				judgments.onDidChange((changed) => {
					if (changed === key) listener();
				}),
			];
			return toDisposable(() => {
				for (const one of both) one.dispose();
			});
		},
		get state() {
			const verification = verifications.get(place.file);
			return place.view === 'verification'
				? verificationState(verification, place.reward)
				: judgmentState(judgments.get(place), place.view);
		},
	};
}

function verificationState(state: FileVerification | undefined, reward: string): VerificationState {
	const results = state?.results.get(reward) ?? null;
	return {
		phase: state?.phase ?? 'idle',
		failure: state?.failure ?? null,
		stale: state !== undefined && results !== null && (state.stale || state.phase === 'failed'),
		shown: { view: 'verification', results, caseFaults: state?.caseFaults ?? [] },
	};
}

function judgmentState(judgment: Judgment | undefined, view: 'audit' | 'comparison'): VerificationState {
	const result = judgment?.result ?? null;
	const shown: ShownResult =
		view === 'audit'
			? { view, report: result !== null && 'probes' in result ? result : null }
			: { view, comparison: result !== null && 'groups' in result ? result : null };
	return { phase: judgment?.phase ?? 'idle', failure: judgment?.failure ?? null, stale: false, shown };
}
