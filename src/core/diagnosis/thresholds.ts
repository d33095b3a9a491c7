/*
 * Every number that a rule of this folder decides by, with the reason for it. docs/diagnosis.md is made from these. A
 * batch is a generation batch: a row of metrics that has the metric in question.
 */

export interface Threshold {
	readonly value: number;
	readonly unit: string;
	/** Why this number and no other, with its source where it has one. */
	readonly why: string;
}

const threshold = (value: number, unit: string, why: string): Threshold => ({ value, unit, why });

export const thresholds = {
	degradeBatches: threshold(10, 'batches', 'The mean of ten batches scatters by a third of what one does.'),
	openingBatches: threshold(
		3,
		'batches',
		'The first batch is sampled before any update, the next two after one and two: with a rate that ruins a policy within a few updates, later ones no longer show what it began with.',
	),
	degradeShare: threshold(
		0.25,
		'of reward_std',
		'A quarter of what completions differ by is a fall that is plain to see on a chart; for a reward of 0 or 1 it is 0.12 of accuracy at most.',
	),
	degradeErrors: threshold(
		4,
		'standard errors',
		'A run is looked at after each of hundreds of batches, against the same first ones: at four standard errors (3 in 100,000 by chance) that stays rare, at three one flat run in forty would be called ruined.',
	),
	degradeEvaluations: threshold(2, 'evaluations', 'One alone may be below by chance, 95% intervals apart or not.'),
	rateCut: threshold(
		10,
		'times lower',
		'Rates are searched for in powers of ten (common practice from Bengio 2012 on), and a rate that ruins a policy within tens of updates is not wrong by a factor of two.',
	),
	usualBeta: threshold(0.04, '', 'The KL coefficient of GRPO in DeepSeekMath (Shao et al. 2024, section 4.2).'),

	deadShare: threshold(
		0.8,
		'share of groups',
		'Of five groups four teach nothing, so a batch costs five times what it teaches. DAPO (Yu et al. 2025, section 3.2) saw the share grow all through training and samples again because of it; below this it is the ordinary state of a task that is being learned.',
	),
	deadBatches: threshold(20, 'batches', 'One batch has few groups: its share is noise.'),
	deadCauseShare: threshold(0.5, 'share of dead groups', 'A cause is named when it explains most of them.'),
	hopelessShare: threshold(
		0.01,
		'share of completions',
		'Right once in a hundred, a group of eight has one in twelve batches.',
	),
	coldTemperature: threshold(
		0.7,
		'',
		'GRPO recipes sample at 0.9 to 1; at 0.7 a token of probability 0.1 against 0.9 comes up half as often.',
	),
	hotterBy: threshold(
		1.5,
		'times the temperature',
		'POLARIS (An et al. 2025) raises temperature to 1.4 and more where diversity runs out.',
	),
	solvedAccuracy: threshold(
		0.9,
		'share',
		'From here on a task counts as solved: little is left to be learned from it.',
	),

	entropyShare: threshold(
		0.1,
		'of the entropy at the beginning of the stage',
		'Entropy is spent for reward (Cui et al. 2025: R = -a exp(H) + b) and most of it early, so a fall alone is no fault: a healthy run of the demo ends at a fifth of where it began.',
	),
	entropyFloor: threshold(
		0.05,
		'nats per token',
		'A policy that still has more than this explores, whatever it had before.',
	),
	entropyDead: threshold(
		0.3,
		'share of groups that are not all right',
		'A level of entropy alone is no fault where the stage began with it: short answers need little. Policies of little entropy that learn had one group in ten without a difference among these, policies that had collapsed four or more.',
	),
	entropyHotter: threshold(
		2.5,
		'times the temperature',
		'POLARIS (An et al. 2025) goes to 1.4 and more for policies that still have entropy; one without needs more.',
	),
	entropyBatches: threshold(20, 'batches', 'Updates of one batch differ.'),

	klMean: threshold(
		1,
		'nats per token',
		'Runs that go well stay below a few tenths. At 1 nat for each token the reference would hardly ever have written any of the completions.',
	),
	klGrowth: threshold(
		5,
		'times the median before',
		'A level that the run has always had is a choice of beta, not an event.',
	),
	klBatches: threshold(10, 'updates', 'k3 is heavy-tailed, one token can make an update: hence the median of several.'),
	policyKl: threshold(
		0.1,
		'nats per token',
		'PPO implementations stop an epoch at 0.01 to 0.05 (Spinning Up, target_kl 0.01 x 1.5); ten times that is no small step any more.',
	),

	lengthGrowth: threshold(
		2,
		'times the length before',
		'Length that grows along with reward is how thinking is learned (DeepSeek-R1, figure 3); twice the tokens for the same reward are not.',
	),
	lengthShrink: threshold(0.4, 'times the length before', 'Short answers are fine as long as they earn as much.'),
	lengthBatches: threshold(30, 'batches', 'Long enough for reward to answer to length.'),
	overlongShare: threshold(
		0.25,
		'share of completions',
		'A truncated completion earns nothing whatever it was about to say, so from a quarter on the limit decides about the reward (DAPO, section 3.4, filters them for that noise).',
	),
	overlongBatches: threshold(20, 'batches', 'A model that has yet to learn to end does so within a few.'),

	squeezedShare: threshold(0.5, 'share of completions', 'With most completions truncated, ending early is what earns.'),
	squeezedLength: threshold(0.8, 'of the length at first', 'A fifth shorter is more than lengths scatter by.'),

	dominantShare: threshold(
		0.9,
		'share of the variance of the weighted components',
		'Advantages are made of differences within groups: what does not vary is not trained.',
	),
	dominantBatches: threshold(20, 'batches', 'Deviations of single batches scatter.'),
	dominantLookback: threshold(
		100,
		'batches',
		'What learns slowly has risen by then, and what does not is not about to.',
	),
	balancedShare: threshold(
		0.1,
		'of the deviation of the reward that judges answers',
		'A tenth of the deviation is a hundredth of the variance: it decides between completions that are equally right, and a reward that pulls away from right answers is still outweighed.',
	),

	formatLearnt: threshold(0.9, 'of the largest format reward', 'Learned: nine of ten completions have it.'),
	formatBatches: threshold(60, 'batches', 'How long correctness may wait once the format is there.'),
	flatBelow: threshold(
		0.3,
		'share',
		'A policy that is right more often than this has groups to learn from: standing still there is a plateau, which has other reasons than the form.',
	),
	flatRise: threshold(0.05, 'share', 'Less than what a batch of a hundred completions scatters by.'),

	hackingRise: threshold(
		0.5,
		'standard deviations of reward in a batch',
		'A rise that is plain to see: half of what completions differ by at all.',
	),
	hackingEvaluations: threshold(3, 'evaluations', 'Two that did not rise are chance.'),
	hackingBatches: threshold(50, 'batches', 'What is learned shows on held-out problems a little later.'),

	loopShare: threshold(
		0.5,
		'share of 4-grams that occurred before',
		'Thinking repeats a formula or a phrase now and then; where every other 4-gram has been there before, it goes in circles. n-grams of words as in the repetition penalty of Yeo et al. 2025 and open-r1.',
	),
	loopWords: threshold(50, 'n-grams', 'Shorter texts repeat by chance.'),
	loopRollouts: threshold(0.1, 'share of rollouts', 'A few loops at temperature 1 are ordinary.'),
	loopSteps: threshold(5, 'steps with rollouts', 'One step has few rollouts.'),

	stillBatches: threshold(40, 'batches', 'Twice the batches that other rules wait for: a late start is no standstill.'),
	stillBound: threshold(
		0.02,
		'share',
		'By Pinsker no share of completions can have moved by more than sqrt(KL / 2), KL in nats per completion: below two in a hundred nothing that is learned could show in 400 held-out problems.',
	),
	betaHigh: threshold(
		1,
		'',
		'The best policy under a KL term is the reference times exp(advantage / beta). Advantages have deviation 1 and right and wrong are about two apart, so at 1 the odds of a right completion grow by e^2 at most, ever; at 5 by e^0.4, half as much again. Recipes use 0 to 0.1.',
	),
	clippedShare: threshold(
		0.05,
		'share of tokens',
		'With a range of 0.2 a few tokens in a hundred or fewer are clipped (DAPO, section 3.1).',
	),
	epsilonLow: threshold(
		0.02,
		'',
		'Ranges of 0.1 to 0.3 are used token by token (Schulman et al. 2017; DAPO 0.2 and 0.28); ten times smaller ones belong to ratios of whole sequences.',
	),
	usualEpsilon: threshold(0.2, '', "PPO's, and the default of recipes."),
	errorBatches: threshold(
		5,
		'of the last 10 batches',
		'A timeout now and then is not a fault of the code; in every other batch it is.',
	),
	repeatPairs: threshold(50, 'pairs', 'Fewer equal completions are too few to tell.'),
	repeatDiffer: threshold(
		0.1,
		'share of pairs',
		'A reward that is a function of prompt and completion never differs; a judge at temperature 0 does now and then.',
	),
	mixedLetters: threshold(0.1, 'share of letters', 'One term or name of another language is ordinary.'),
	mixedShare: threshold(0.2, 'share of completions', 'One completion in five is no slip any more.'),
	languageWeight: threshold(1, '', 'DeepSeek-R1 (section 2.3.2) adds language consistency to accuracy as it is.'),
	agreeShare: threshold(
		0.75,
		'share of a group',
		'Completions that reach one answer by different ways are rarely wrong together (self-consistency, Wang et al. 2022).',
	),
	agreedWrong: threshold(
		0.1,
		'share of groups',
		'Datasets have a few wrong keys in a hundred; one in ten costs more than noise.',
	),
	agreedGap: threshold(
		0.2,
		'share',
		'Training and held-out problems of one task differ by a few points in accuracy; by so much only where the problems or their keys differ.',
	),

	nanRows: threshold(
		2,
		'of the last 10 updates',
		'Mixed precision skips a single update whose gradient overflowed; it is not followed by more.',
	),

	mismatchKl: threshold(
		0.01,
		'nats per token',
		'About 0.001 is usual between vLLM and a trainer (NeMo-RL, guide to GRPO, gen_kl_error); runs that collapsed were seen to pass ten times that (Liu et al. 2025, When Speed Kills Stability).',
	),
	mismatchDifference: threshold(
		0.05,
		'nats per token',
		'NeMo-RL calls a mean factor of 1.01 to 1.02 between the two probabilities of a token reason to look; 0.05 is a factor of 1.05.',
	),
	mismatchRatio: threshold(
		0.1,
		'away from 1',
		'The mean ratio hovers around 1 with some noise (NeMo-RL, sampling importance ratio); a bias is a difference of weights, templates or temperature.',
	),
	mismatchBatches: threshold(10, 'batches', 'A first batch may be sampled before weights are in step.'),

	throughputShare: threshold(
		0.4,
		'of the median so far',
		'Lengths and neighbors on the machine change speed by a factor of two in ordinary runs.',
	),
	throughputBatches: threshold(30, 'batches', 'Checkpoints and evaluations pass.'),

	stalledSeconds: threshold(
		60,
		'seconds',
		'A heartbeat is written every 5 s; a busy disk or a garbage collection is over in less.',
	),
	stalledGaps: threshold(
		10,
		'times the median gap between rows',
		'Evaluations, checkpoints and retries of a judge are some batches long.',
	),
	stalledLongest: threshold(
		2,
		'times the longest gap of the last 20 rows',
		'What has happened before may happen again.',
	),

	/** Nothing but NaN is said before. */
	shortRun: threshold(20, 'batches', 'A young run has no course yet.'),
} as const satisfies Record<string, Threshold>;
export type ThresholdName = keyof typeof thresholds;

/** Its number alone. */
export const limit = (name: ThresholdName): number => thresholds[name].value;
