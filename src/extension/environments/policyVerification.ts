import * as v from 'valibot';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type PolicySpec, policySpecSchema } from '../../protocol/policySpec.ts';
import type { CommandHandlers } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import type { LazyPolicies } from '../policies/lazyPolicies.ts';
import type { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import type { RunStore } from '../runStore.ts';
import { displayText } from '../runView.ts';
import type { LazySearches } from '../search/lazySearches.ts';
import { askPolicy } from '../search/policyQuestion.ts';
import { environmentLimits } from './environmentLimits.ts';
import { type PlayPolicy, trainedStatistics } from './environmentSession.ts';
import { verifiedEnvironment } from './environmentWorkbench.ts';
import type { LazyEnvironments } from './lazyEnvironments.ts';

export interface PolicyVerificationNeeds {
	readonly environments: LazyEnvironments;
	readonly policies: LazyPolicies;
	readonly searches: LazySearches;
	readonly environment: RewardEnvironment;
	readonly store: RunStore;
	readonly notices: Notices;
	/** Its workspace state stores the last policy of each environment. */
	readonly context: Pick<vscode.ExtensionContext, 'workspaceState'>;
}

const memoryKey = 'reasoningLab.environmentPolicies';
const memorySchema = v.array(v.object({ file: v.string(), policy: policySpecSchema }));
/** Maximum number of environments whose last policy is stored. */
const maxRemembered = 50;

/**
 * *Verify Environment with Policy*: verifies an environment and lets a policy play an episode for each row. Only on
 * request, because a checkpoint may have to be loaded and a server may charge for tokens.
 */
export function policyVerificationCommands(
	needs: PolicyVerificationNeeds,
): CommandHandlers<typeof commandIds.verifyEnvironmentWithPolicy> {
	return {
		[commandIds.verifyEnvironmentWithPolicy]: async (given: unknown, asked: unknown) => {
			const uri = await verifiedEnvironment(given);
			if (uri === null) return;
			const policy = await policyFor(uri.fsPath, asked, needs);
			if (policy !== null) await verifyWith(uri, policy, needs);
		},
	};
}

/** Returns the policy that the caller specified, or one selected by the user; null if the user canceled. */
async function policyFor(
	file: string,
	asked: unknown,
	{ store, policies, context }: PolicyVerificationNeeds,
): Promise<PolicySpec | null> {
	const { workspaceState: memory } = context;
	const specified = decode(policySpecSchema, asked);
	if (specified.ok) return specified.value;
	const stored = decode(memorySchema, memory.get(memoryKey) ?? []);
	const remembered = stored.ok ? stored.value : [];
	const last = remembered.find((one) => one.file === file)?.policy ?? null;
	const question = { title: 'Verify environment with policy', placeholder: 'Select a policy', step: 1, steps: 1 };
	const answer = await askPolicy(question, store, () => policies.get(), last);
	if (answer === 'back' || answer === 'cancel') return null;
	const others = remembered.filter((one) => one.file !== file);
	await memory.update(memoryKey, [{ file, policy: answer.value }, ...others].slice(0, maxRemembered));
	return answer.value;
}

async function verifyWith(uri: vscode.Uri, policy: PolicySpec, needs: PolicyVerificationNeeds): Promise<void> {
	const { environments, notices } = needs;
	const file = displayText(vscode.workspace.asRelativePath(uri), 120);
	const session = (await environments.get()).verifications.session(uri.fsPath);
	/** Why the policy could not play. This is not a fault of the environment. */
	let failure: unknown = null;
	const canceled = await vscode.window.withProgress(
		{ location: vscode.ProgressLocation.Notification, title: `Verifying ${file}`, cancellable: true },
		async (progress, token) => {
			const abort = new AbortController();
			const listener = token.onCancellationRequested(() => abort.abort());
			const play: PlayPolicy = async (episodes, signal) => {
				try {
					return await played(uri, { policy, ...episodes }, needs, progress, signal);
				} catch (error) {
					if (signal.aborted) throw error;
					failure = error;
					return { name: '', episodes: [] };
				}
			};
			try {
				await session.verify(play, abort.signal);
				return abort.signal.aborted;
			} finally {
				listener.dispose();
			}
		},
	);
	if (failure !== null) throw failure;
	// If the file was saved in the meantime, it is being verified again.
	await session.settled();
	const { phase, verification } = session.state;
	// Otherwise, the file shows why there is no result.
	if (canceled || phase !== 'done' || verification === null || trainedStatistics(verification) !== null) return;
	const remark = verification.remarks.find((one) => one.startsWith('The policy '));
	void notices.information(remark ?? `${file} changed, so it was verified without the policy.`);
}

async function played(
	uri: vscode.Uri,
	{ policy, environment, rows, seed }: { readonly policy: PolicySpec } & Parameters<PlayPolicy>[0],
	{ searches, environment: variables }: PolicyVerificationNeeds,
	progress: vscode.Progress<{ message?: string; increment?: number }>,
	signal: AbortSignal,
): ReturnType<PlayPolicy> {
	progress.report({ message: 'Loading the policy...' });
	const { turnMs, memoryMb } = environmentLimits(uri.fsPath);
	const [{ searches: worker }, own] = await Promise.all([searches.get(), variables.of(uri)]);
	const limits = turnMs === undefined ? {} : { turnSeconds: turnMs / 1000 };
	const result = await worker.playEpisodes(
		{
			policy,
			episodes: {
				environment: { ...environment, ...limits },
				rows: rows.map(({ row, columns }) => ({ row, columns: { ...columns } })),
				seed,
				...(memoryMb === undefined ? {} : { memoryMb }),
			},
			variables: own,
			onPlayed: (done) =>
				progress.report({ message: `${done} / ${rows.length} episodes`, increment: 100 / Math.max(1, rows.length) }),
		},
		signal,
	);
	if (result.episodes.length === rows.length) return result;
	throw new Failure('internal', `The policy played ${result.episodes.length} of ${rows.length} episodes.`);
}
