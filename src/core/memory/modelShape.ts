import { Failure } from '../../base/failure.ts';

/** Decoder dimensions, and properties that determine what is stored for the backward pass. */
export interface ModelShape {
	readonly layers: number;
	/** Width of the residual stream. */
	readonly width: number;
	readonly heads: number;
	/** Number of key and value heads; fewer than `heads` if queries share them (Ainslie et al. 2023). */
	readonly keyHeads: number;
	readonly headWidth: number;
	readonly feedForward: number;
	/** Whether the feed-forward layer is gated: it multiplies two branches and has three matrices. */
	readonly gated: boolean;
	readonly vocabulary: number;
	/** Whether the output matrix is tied to the embedding. */
	readonly tied: boolean;
	/** Number of rows in the learned position matrix, or 0 if there is none. */
	readonly positions: number;
	/** Number of norms per block, excluding those for queries and keys. */
	readonly norms: number;
	/**
	 * `layer`: one kernel that stores only its input. `rms`: the Hugging Face version, which also stores normalized
	 * states.
	 */
	readonly norm: 'rms' | 'layer';
	/** Whether queries and keys are also normalized. */
	readonly queryNorm: boolean;
	/** Which matrices have biases: none, those for q, k, and v, or all (including the feed-forward layer). */
	readonly biases: 'none' | 'attention' | 'all';
	/** Whether a single matrix computes queries, keys, and values. */
	readonly fusedAttention: boolean;
	/** Whether a single matrix computes both branches of a gated feed-forward layer. */
	readonly fusedFeedForward: boolean;
	/** Number of tensors of feed-forward width stored for the backward pass. */
	readonly keptInside: number;
	/** Number of parallel feed-forward layers (mixture of experts), and how many of them each token uses. */
	readonly experts: number;
	readonly expertsPerToken: number;
}

/** Returns the architecture of the embedded engine, as the trainer builds it for a recipe that specifies sizes. */
export function shapeOfSizes(
	sizes: {
		readonly layers: number;
		readonly width: number;
		readonly heads: number;
		readonly feedForward: number;
		readonly context: number;
	},
	vocabulary: number,
): ModelShape {
	const { layers, width, heads, feedForward, context } = sizes;
	return {
		layers,
		width,
		heads,
		keyHeads: heads,
		headWidth: width / heads,
		feedForward,
		gated: false,
		vocabulary,
		tied: false,
		positions: context,
		norms: 2,
		norm: 'rms',
		queryNorm: false,
		biases: 'none',
		fusedAttention: true,
		fusedFeedForward: true,
		keptInside: 2,
		experts: 1,
		expertsPerToken: 1,
	};
}

type Config = Readonly<Record<string, unknown>>;

const largest = 1e9;

function whole(config: Config, ...names: string[]): number | null {
	for (const name of names) {
		const value = config[name];
		if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= largest) return value;
	}
	return null;
}

function needed(config: Config, what: string, ...names: string[]): number {
	const value = whole(config, ...names);
	if (value !== null) return value;
	throw new Failure(
		'invalid',
		`${what} has no valid value for "${names[0]}".`,
		'Select a folder that contains a language model.',
	);
}

/** Model families whose blocks differ from Llama's, by `model_type`. */
const families: Readonly<Record<string, Partial<ModelShape>>> = {
	qwen2: { biases: 'attention' },
	qwen2_moe: { biases: 'attention' },
	qwen3: { queryNorm: true },
	qwen3_moe: { queryNorm: true },
	gemma2: { norms: 4 },
	gemma3_text: { norms: 4, queryNorm: true },
	olmo2: { queryNorm: true },
	phi3: { fusedAttention: true, fusedFeedForward: true },
	'reasoning-lab': { gated: false, keptInside: 2, fusedAttention: true, fusedFeedForward: true },
	gpt2: { gated: false, norm: 'layer', biases: 'all', fusedAttention: true, fusedFeedForward: true },
	gpt_neox: { gated: false, norm: 'layer', biases: 'all', fusedAttention: true, fusedFeedForward: true },
	opt: { gated: false, norm: 'layer', biases: 'all', fusedFeedForward: true },
	phi: { gated: false, norm: 'layer', biases: 'all', fusedFeedForward: true },
};

/** Activations that transformers computes as separate operators, each of which stores a tensor. */
const decomposed: readonly string[] = ['gelu_new', 'gelu_fast', 'gelu_python'];
/** Families that use a learned position matrix instead of rotary embeddings. */
const learnedPositions: readonly string[] = ['gpt2', 'opt', 'reasoning-lab'];
/** Families whose configurations omit `tie_word_embeddings` because it defaults to true. */
const tiedByDefault: readonly string[] = ['gpt2', 'opt', 'gemma', 'gemma2', 'gemma3_text'];

/** A shape, and whether its family is known. Unknown families are treated like Llama. */
export interface ReadShape {
	readonly shape: ModelShape;
	readonly family: string;
	readonly known: boolean;
}

/**
 * Returns the shape described by a Hugging Face config.json. `what` is the file name in error messages. Uses the
 * text part of multimodal models. Throws `invalid` if sizes are missing.
 */
export function shapeOfConfig(value: unknown, what: string): ReadShape {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		throw new Failure(
			'invalid',
			`${what} is not a model configuration.`,
			'Select a folder that contains a language model.',
		);
	}
	const outer = value as Config;
	const text = outer.text_config;
	const config: Config = typeof text === 'object' && text !== null ? { ...outer, ...(text as Config) } : outer;
	const family = typeof config.model_type === 'string' ? config.model_type : 'unnamed';
	const own = families[family] ?? {};
	const width = needed(config, what, 'hidden_size', 'n_embd', 'd_model');
	const heads = needed(config, what, 'num_attention_heads', 'n_head');
	const gated = own.gated ?? true;
	const activation = String(config.hidden_act ?? config.hidden_activation ?? config.activation_function ?? 'silu');
	const experts = whole(config, 'num_local_experts', 'num_experts', 'n_routed_experts') ?? 1;
	const inner = experts > 1 ? whole(config, 'moe_intermediate_size') : null;
	const tied = config.tie_word_embeddings;
	const shape: ModelShape = {
		layers: needed(config, what, 'num_hidden_layers', 'n_layer'),
		width,
		heads,
		keyHeads: whole(config, 'num_key_value_heads') ?? heads,
		headWidth: whole(config, 'head_dim') ?? Math.floor(width / heads),
		feedForward: inner ?? whole(config, 'intermediate_size', 'n_inner', 'ffn_dim') ?? 4 * width,
		gated,
		vocabulary: needed(config, what, 'vocab_size'),
		tied: typeof tied === 'boolean' ? tied : tiedByDefault.includes(family),
		positions: learnedPositions.includes(family) ? (whole(config, 'max_position_embeddings', 'n_positions') ?? 0) : 0,
		norms: 2,
		norm: 'rms',
		queryNorm: false,
		biases: config.attention_bias === true ? 'attention' : 'none',
		fusedAttention: false,
		fusedFeedForward: false,
		// Gated: both branches, the activated branch, and their product.
		keptInside: (gated ? 4 : 2) + (decomposed.includes(activation) ? 3 : 0),
		experts,
		expertsPerToken: experts > 1 ? (whole(config, 'num_experts_per_tok', 'num_experts_per_token') ?? 2) : 1,
		...own,
	};
	return {
		shape,
		family,
		known: family in families || ['llama', 'mistral', 'mixtral', 'smollm3', 'gemma'].includes(family),
	};
}
