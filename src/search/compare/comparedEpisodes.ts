import { Failure } from '../../base/failure.ts';
import { isSuccess } from '../../core/episode/episodeSuccess.ts';
import { environmentName } from '../../core/episode/sameEnvironment.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import type { ComparisonSpec } from '../../protocol/strategyComparison.ts';
import { episodeProblems } from '../episodes/episodeProblems.ts';
import { OpenEpisodes } from '../episodes/openEpisodes.ts';
import { absoluteEnvironment, type SearchContext } from '../searchContext.ts';
import type { ComparedProblems, Judge } from './comparedProblems.ts';

type Spec = Pick<ComparisonSpec, 'problems' | 'seed'> & { readonly environment: SearchEnvironment };

/**
 * Opens a comparison's environment, whose rows are the problems and whose reward determines success. All searches share
 * it, because a server may accept only one client. Fails with `unsupported` if the environment has no reward, and with
 * the same errors as `OpenEpisodes.open`.
 */
export async function openComparedEpisodes(spec: Spec, context: SearchContext): Promise<ComparedProblems> {
	const { folder } = context.policies;
	const { problems, seed } = spec;
	const environment = absoluteEnvironment(spec.environment, folder);
	const name = environmentName(environment);
	const episodes = await OpenEpisodes.open(environment, { ...context, seed });
	const { ownsReward, rewardRange } = episodes.description;
	if (!ownsReward) {
		episodes.dispose();
		throw new Failure(
			'unsupported',
			`${name} has no get_reward, so its episodes cannot be judged.`,
			'Add the method to the environment.',
		);
	}
	// No episode means no success: the budget ran out before any episode ended.
	const judge: Judge = (_, __, node) => {
		const success = node === undefined ? false : isSuccess(node.reward, rewardRange);
		return success === null ? null : success ? 1 : 0;
	};
	return {
		environment: { name, episodes },
		read: (onFault) => episodeProblems({ problems, environment, episodes, folder, onFault }),
		judge: async () => judge,
		dispose: () => episodes.dispose(),
	};
}
