import type { BuiltInRewardName } from '../../protocol/recipeKeys/builtInRewards.ts';

/** Reference information about a built-in reward. */
export interface BuiltInInfo {
	readonly name: BuiltInRewardName;
	readonly title: string;
	/** One-sentence description. */
	readonly sentence: string;
	/** Formula as text; n is the length, and tags are the template tags. */
	readonly formula: string;
	/** Source of the formula: a paper and equation, or code. */
	readonly source: string;
	readonly range: string;
	/** When the reward is null for a row. */
	readonly nullRule: string;
	/** Path to the implementation, relative to src; the build copies it to dist/rewards/FILE. */
	readonly file: string;
}

/** All built-in rewards, in documentation order. */
export const builtInInfos: readonly BuiltInInfo[] = [
	{
		name: 'accuracy',
		title: 'Accuracy',
		sentence:
			'Whether the completion gives one correct answer, checked by the task if it has its own rule, otherwise by mathematical equivalence.',
		formula: '1 if the answer equals the gold answer, else 0',
		source: 'DeepSeek-R1 (Guo et al. 2025), section 2.2.2',
		range: '0 or 1',
		nullRule: 'no gold answer, or the gold answer cannot be parsed',
		file: 'core/reward/accuracyReward.ts',
	},
	{
		name: 'format',
		title: 'Format (strict)',
		sentence: 'Whether the completion matches the template format exactly.',
		formula:
			'1 if every tag occurs exactly once and in order, nothing is outside the tags, the answer is not empty and the completion finished (EOS); else 0',
		source: 'DeepSeek-R1 (Guo et al. 2025), section 2.2.2',
		range: '0 or 1',
		nullRule: 'never',
		file: 'core/reward/formatReward.ts',
	},
	{
		name: 'exact-match',
		title: 'Exact match',
		sentence:
			'Whether the answer equals the gold text (or any of several) after normalizing whitespace and number formats.',
		formula: '1 if normalize(answer) = normalize(gold), else 0',
		source: 'SQuAD (Rajpurkar et al. 2016), exact match without removing articles and punctuation',
		range: '0 or 1',
		nullRule: 'no gold value',
		file: 'core/reward/exactMatchReward.ts',
	},
	{
		name: 'multiple-choice',
		title: 'Multiple choice',
		sentence:
			'Whether the answer names the correct option, either by letter in any common format or by the option text.',
		formula: '1 if the answer names exactly one option and that option is the gold one, else 0',
		source: 'MMLU (Hendrycks et al. 2021)',
		range: '0 or 1',
		nullRule: 'no gold value, or the gold value does not match an option',
		file: 'core/reward/multipleChoiceReward.ts',
	},
	{
		name: 'iou',
		title: 'IoU of boxes',
		sentence: 'How well the boxes in the answer overlap the gold boxes, or how well their confidence predicts a match.',
		formula:
			'iou: sum of IoU of matched boxes / max(boxes, gold boxes); confidence: mean(c if matched, else 1 - c); each box, in order of decreasing confidence c, takes the free gold box with the highest IoU above the threshold',
		source:
			'Visual-RFT (Liu et al. 2025), section 3.2: R_IoU and R_conf; divided by the number of gold boxes if it is larger, as in the published code',
		range: '0 to 1',
		nullRule: 'no gold boxes, or the gold boxes cannot be read',
		file: 'core/reward/iouReward.ts',
	},
	{
		name: 'classification',
		title: 'Classification',
		sentence: 'Whether the answer is the name of the gold class, ignoring case and separators.',
		formula: '1 if class(answer) = class(gold), else 0',
		source: 'Visual-RFT (Liu et al. 2025), section 3.2: R_acc, with whole names instead of substrings',
		range: '0 or 1',
		nullRule: 'no gold value',
		file: 'core/reward/classificationReward.ts',
	},
	{
		name: 'tag-count',
		title: 'Tag count',
		sentence: 'Partial credit for template tags, as a gradient toward the strict format.',
		formula: 'template tags that occur exactly once / template tags',
		source:
			'open-r1, tag_count_reward (0.25 for each of 4 tags), extended to any template and without the line break requirement',
		range: '0 to 1',
		nullRule: 'the template has no tags',
		file: 'core/reward/tagCountReward.ts',
	},
	{
		name: 'language-consistency',
		title: 'Language consistency',
		sentence: 'Fraction of words in the thinking section that are in the target language, excluding code and formulas.',
		formula: 'words in the target language / words',
		source: 'DeepSeek-R1 (Guo et al. 2025), section 2.3.2',
		range: '0 to 1',
		nullRule: 'the thinking section has no words',
		file: 'core/reward/languageConsistencyReward.ts',
	},
	{
		name: 'soft-overlong',
		title: 'Soft overlong penalty',
		sentence: 'No penalty up to a threshold length, then a linear penalty down to -1 at the maximum length.',
		formula: '0 if n <= L_max - L_cache; ((L_max - L_cache) - n) / L_cache if n <= L_max; -1 beyond',
		source: 'DAPO (Yu et al. 2025), equation 13',
		range: '-1 to 0',
		nullRule: 'never',
		file: 'core/reward/softOverlongReward.ts',
	},
	{
		name: 'length-target',
		title: 'Length target',
		sentence: 'How close the length is to a target or, for correct answers, how far below the target it is.',
		formula:
			'near: max(0, 1 - |n - target| / range); exact: -alpha |target - n|; max: correct x clip(alpha (target - n) + delta, 0, 1)',
		source:
			'near: tent function; exact and max: L1 (Aggarwal and Welleck 2025), LCPO-Exact (added to accuracy) and LCPO-Max',
		range: 'near, max: 0 to 1; exact: 0 or less',
		nullRule: 'the row has no target; max: accuracy is null',
		file: 'core/reward/lengthTargetReward.ts',
	},
	{
		name: 'cosine-length',
		title: 'Cosine length',
		sentence: 'Correct answers earn more the shorter they are; wrong answers lose less the longer they are.',
		formula:
			'long + (short - long) (1 + cos(pi n / L)) / 2, with separate values for correct and wrong answers; n is capped at L',
		source: 'Yeo et al. 2025 (Demystifying long chain-of-thought), section 4; open-r1, get_cosine_scaled_reward',
		range: 'wrongShort to correctShort (-1 to 1)',
		nullRule: 'accuracy is null',
		file: 'core/reward/cosineLengthReward.ts',
	},
	{
		name: 'repetition',
		title: 'Repetition',
		sentence: 'Penalty for repeated word n-grams.',
		formula: 'maxPenalty x (1 - distinct n-grams / n-grams); 0 for fewer than n words',
		source: 'Yeo et al. 2025, appendix; open-r1, get_repetition_penalty_reward',
		range: 'maxPenalty to 0',
		nullRule: 'never',
		file: 'core/reward/repetitionReward.ts',
	},
	{
		name: 'code-tests',
		title: 'Code tests',
		sentence: 'Runs the submitted code in the sandbox against the tests in the row.',
		formula: 'all: 1 if every test passes, else 0; fraction: passed tests / tests',
		source: 'APPS (Hendrycks et al. 2021), strict accuracy and test case average',
		range: '0 to 1',
		nullRule: 'the row has no tests',
		file: 'rewards/codeTests.ts',
	},
	{
		name: 'json-schema',
		title: 'JSON Schema',
		sentence: 'Whether the answer is JSON that conforms to a schema.',
		formula: '1 if valid; partial if the answer is JSON but does not conform; else 0',
		source: 'JSON Schema 2020-12',
		range: '0 to 1',
		nullRule: 'the row has no schema',
		file: 'core/reward/jsonSchemaReward.ts',
	},
	{
		name: 'reflection',
		title: 'Reflection behaviors',
		sentence:
			'Counts verification, backtracking, subgoal, backward-chaining and reflection phrases in the thinking section.',
		formula:
			'min(cap, markers) / cap; density: markers per thousand characters; each phrase counts at most perPhrase times',
		source: 'Gandhi et al. 2025 (Cognitive behaviors that enable self-improving reasoners)',
		range: '0 to 1',
		nullRule: 'never',
		file: 'core/reward/reflectionReward.ts',
	},
	{
		name: 'judge',
		title: 'LLM judge',
		sentence:
			'A language model on an OpenAI-compatible server compares the answer with the gold answer, or grades the answer on its own.',
		formula: 'yes-no: 1 or 0; score: (score - low) / (high - low)',
		source: 'LLM as a judge (Zheng et al. 2023); generative verifiers (Zhang et al. 2024)',
		range: '0 to 1',
		nullRule: 'a gold answer is required, but the row has none',
		file: 'core/reward/judgePrompt.ts',
	},
	{
		name: 'process',
		title: 'Process reward',
		sentence:
			'A process reward model scores each step in the thinking section, and the scores are aggregated into one value.',
		formula: 'mean, min, last or product of the step scores',
		source: "Let's verify step by step (Lightman et al. 2023): product, min; Math-Shepherd (Wang et al. 2024): min",
		range: 'depends on the model, usually 0 to 1',
		nullRule: 'the thinking section has no steps',
		file: 'core/reward/processReward.ts',
	},
	{
		name: 'reward-model',
		title: 'Reward model',
		sentence: 'A reward model trained on preference pairs scores the whole completion.',
		formula: 'r(prompt, completion), the scalar at the last token; sigmoid: 1 / (1 + exp(-r))',
		source: 'Ouyang et al. 2022 (InstructGPT), section 3.5; Stiennon et al. 2020',
		range: 'any number; sigmoid: 0 to 1',
		nullRule: 'never',
		file: 'rewards/builtIn/rewardModel.ts',
	},
	{
		name: 'majority',
		title: 'Majority vote',
		sentence: 'Whether the answer is the most frequent one among the completions for the same prompt. Needs no labels.',
		formula: '1 if normalize(answer) is the most frequent answer in the group, else 0; ties go to the first one',
		source: 'TTRL (Zuo et al. 2025), the estimated label by majority voting',
		range: '0 or 1',
		nullRule: 'only one completion for the prompt is scored',
		file: 'core/reward/majorityReward.ts',
	},
	{
		name: 'certainty',
		title: 'Certainty',
		sentence: "The policy's certainty about the completion: minus the mean entropy of its tokens. Needs no labels.",
		formula: '-mean(H_t), the entropy in nats of the distribution from which token t was sampled',
		source: 'RENT (Prabhudesai et al. 2025)',
		range: '0 or less',
		nullRule: 'the entropies are unknown, for example when a recorded rollout is rescored',
		file: 'core/reward/certaintyReward.ts',
	},
	{
		name: 'self-certainty',
		title: 'Self-certainty',
		sentence: 'How far the token distributions are from uniform. Needs no labels.',
		formula: 'mean(KL(U || p_t)) = mean(-mean_v(log p_t(v)) - log V), in nats, for V tokens in the vocabulary',
		source: 'Intuitor (Zhao et al. 2025), equation 2',
		range: '0 or more',
		nullRule: 'the distributions are unknown, for example when a recorded rollout is rescored',
		file: 'core/reward/selfCertaintyReward.ts',
	},
	{
		name: 'self-judge',
		title: 'Self-judge',
		sentence: "The policy's own verdict on the answer. Needs no labels.",
		formula: 'verdicts equal to "accept" / verdicts sampled; 0 if the completion has no answer',
		source:
			'Self-Rewarding Language Models (Yuan et al. 2024), section 2; the verdicts are those of the current policy',
		range: '0 to 1',
		nullRule: 'the policy is not available, for example when a recorded rollout is rescored',
		file: 'core/reward/selfJudgeReward.ts',
	},
	{
		name: 'learnability',
		title: 'Learnability',
		sentence: 'How much can be learned from a problem that the policy posed.',
		formula:
			'1 - (correct answers / answers) to the problem, but 0 if none or all are correct; "invalid_reward" if the completion poses no problem',
		source: 'Absolute Zero (Zhao et al. 2025), equation 4',
		range: '0 to 1, or "invalid_reward"',
		nullRule: 'the completion answers a problem, or poses a held-out one',
		file: 'core/reward/learnabilityReward.ts',
	},
	{
		name: 'environment',
		title: 'Environment',
		sentence: "The reward that the recipe's environment returns for the episode.",
		formula: 'get_reward() of the environment file',
		source: 'TRL 1.13, environment_factory',
		range: 'depends on the environment',
		nullRule: 'get_reward returns None, the episode failed, or the completion was not an episode',
		file: 'core/reward/environmentReward.ts',
	},
];
