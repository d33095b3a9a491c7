import { trainerOf, type Values } from './lossTypes.ts';
import { choice, real } from './recipeFields.ts';
import { bareKey, key, lackOf, live, stageOf } from './recipeKey.ts';
import { batchSize, pairsSchema, updates } from './stageFields.ts';

/** Keys shared by stages that learn from preference pairs. */

const pairs = { ...updates, pairs: pairsSchema, batch_size: batchSize('Pairs per update.') };

/** Losses on pairs: values of TRL's DPOConfig, and losses that have their own trainers. */
export const preferenceLosses = [
	'sigmoid',
	'hinge',
	'ipo',
	'exo_pair',
	'nca_pair',
	'robust',
	'bco_pair',
	'sppo_hard',
	'aot',
	'aot_unpaired',
	'apo_zero',
	'apo_down',
	'sigmoid_norm',
	'discopop',
	'simpo',
	'orpo',
	'kto',
] as const;

/** Returns what a loss needs: TRL rejects "exo_pair" without smoothing, and computes plain DPO for "robust". */
function smoothingNeeded(type: unknown, stage: Values): string | undefined {
	const smoothing = Number(trainerOf(stage).label_smoothing ?? 0);
	if (type === 'exo_pair' && !(smoothing > 0)) {
		return '"exo_pair" requires label smoothing. Add "trainer": { "label_smoothing": 0.001 }, the value of its paper.';
	}
	if (type !== 'robust' || (smoothing > 0 && smoothing < 0.5)) return undefined;
	return '"robust" requires the fraction of flipped labels, below 0.5. Add it, such as "trainer": { "label_smoothing": 0.1 }.';
}

export const dpoStageSchema = stageOf('dpo', 'Direct preference optimization on pairs (Rafailov et al. 2023).', {
	...pairs,
	beta: live(
		key(real('Strength of the pull toward the reference; larger values keep the policy closer.', 0, 1000), 0.1),
	),
	loss_type: bareKey(
		choice(
			preferenceLosses,
			'"sigmoid" is DPO. "simpo" and "orpo" have no reference, and "kto" treats the two completions of a pair separately.',
		),
		{
			or: '`"sigmoid"`',
			lacking: {
				embedded: {
					when: (value) => value !== 'sigmoid',
					say: 'The embedded engine only supports the DPO loss. Remove "loss_type", or set "engine": "pytorch".',
				},
				pytorch: lackOf(smoothingNeeded, '"exo_pair" and "robust" require label smoothing.'),
			},
		},
	),
	control: bareKey(
		choice(
			['shuffle'],
			'Control experiment: swaps the completions of half of the pairs, chosen at random, so nothing can be learned.',
		),
		{
			or: 'none',
			lacking: {
				pytorch: {
					say: 'The PyTorch engine cannot shuffle pairs. Remove "control", or run the experiment with "engine": "embedded".',
				},
			},
		},
	),
});

export const rewardModelStageSchema = stageOf('reward-model', 'Reward model trained on pairs (Bradley-Terry).', pairs);
