import { Failure } from '../../../base/failure.ts';
import { formatPercent } from '../../../base/format.ts';
import { decode } from '../../../protocol/decode.ts';
import { type PolicySpec, policySpecSchema } from '../../../protocol/policySpec.ts';
import { listCheckpoints } from '../../../runs/checkpointFiles.ts';
import type { LazyPolicies } from '../../policies/lazyPolicies.ts';
import { showQuickPick } from '../../quickInput.ts';
import { displayText, isForeign, isLive, nameOf, type RunView } from '../../runView.ts';
import type { PlaygroundCommandNeeds } from './playgroundNeeds.ts';
import type { PlaygroundPlace } from './playgroundPanel.ts';

/** Parses the arguments of *Open Playground*: none, or policies. */
export function placeOf(given: readonly unknown[]): PlaygroundPlace {
	return { policies: given.flatMap(specOf) };
}

/**
 * Resolves the argument of *Try in Playground*: a policy from the *Policies* view, or a run, for which the user picks a
 * checkpoint.
 * @param step checkpoint to use: its step, `latest`, or `best`; if absent, the user picks one
 * @returns undefined if the user canceled
 */
export async function askPlace(
	argument: unknown,
	step: unknown,
	{ picker, policies }: Pick<PlaygroundCommandNeeds, 'picker' | 'policies'>,
): Promise<PlaygroundPlace | undefined> {
	const policy = await policyOf(argument, policies);
	if (policy !== null) return { policies: [policy] };
	const view = await picker.one([argument], {
		title: 'Try a run in the playground',
		applies: (run) => !isForeign(run),
		what: 'has a policy to sample from',
	});
	const spec = view === undefined ? undefined : await checkpointOf(view, step);
	return spec === undefined ? undefined : { policies: [spec] };
}

const specOf = (value: unknown): PolicySpec[] => {
	const decoded = decode(policySpecSchema, value);
	return decoded.ok ? [decoded.value] : [];
};

/** Returns a policy from the *Policies* view or a policy spec, or null for any other argument. */
async function policyOf(argument: unknown, policies: LazyPolicies): Promise<PolicySpec | null> {
	const [spec] = specOf(argument);
	if (spec !== undefined) return spec;
	// Policy IDs are JSON arrays; run IDs are folders.
	if (typeof argument !== 'string' || !argument.startsWith('[')) return null;
	return (await policies.get()).store.get(argument)?.spec ?? null;
}

/** Returns a run's checkpoint or its engine, or undefined if the user canceled. */
async function checkpointOf(view: RunView, step: unknown): Promise<PolicySpec | undefined> {
	const checkpoints = (await listCheckpoints(view.folder)).reverse();
	const live = isLive(view);
	if (checkpoints.length === 0 && !live) {
		throw new Failure(
			'missing',
			`${nameOf(view)} has no complete checkpoint.`,
			'Wait until it has saved a checkpoint.',
		);
	}
	const at = (path: string): PolicySpec => ({ kind: 'checkpoint', folder: path });
	if (step === 'latest' && checkpoints[0] !== undefined) return at(checkpoints[0].path);
	const best = checkpoints.find((checkpoint) => checkpoint.best);
	if (step === 'best' && best !== undefined) return at(best.path);
	if (typeof step === 'number') {
		const wanted = checkpoints.find((checkpoint) => checkpoint.step === step);
		if (wanted === undefined) throw new Failure('missing', `${nameOf(view)} has no checkpoint at step ${step}.`);
		return at(wanted.path);
	}
	if (checkpoints.length === 1 && checkpoints[0] !== undefined && !live) return at(checkpoints[0].path);
	const choices = [
		...(live ? [{ label: '$(pulse) Live', description: 'current weights', spec: engineOf(view) }] : []),
		...checkpoints.map(({ step: of, path, stage, score, best: top }, i) => ({
			label: `$(save) Step ${of}`,
			description: [
				i === 0 ? 'newest' : null,
				stage === null ? null : displayText(stage, 40),
				score === null ? null : `accuracy ${formatPercent(score)}`,
				top ? 'best' : null,
			]
				.filter((part) => part !== null)
				.join(', '),
			spec: at(path),
		})),
	];
	const picked = await showQuickPick(choices, {
		title: `Try ${nameOf(view)} in the playground`,
		placeHolder: 'Select a checkpoint',
		matchOnDescription: true,
	});
	return picked?.spec;
}

const engineOf = ({ folder }: RunView): PolicySpec => ({ kind: 'engine', run: folder });
