import * as v from 'valibot';
import { alertLevels } from './alert.ts';
import { hyperparametersSchema } from './control.ts';
import { rolloutLineSchema } from './rolloutLine.ts';

/**
 * The link between a driver (the engine's process, which owns run directory, control endpoint and rewards) and a trainer
 * (a program that computes and owns no file but its caches and the checkpoint folder that it is told to fill).
 *
 * JSON-RPC 2.0 with Content-Length framing over a local socket. Only the trainer asks; the driver answers when what was
 * asked for has happened (what is written of an update may still be on its way to the disk). So the trainer needs no
 * thread that listens, and what the driver wants (a checkpoint, an evaluation,
 * completions for a client) is in its answers as orders. Of several training processes rank 0 alone speaks.
 */
export const trainerLinkVersion = 1;

/** What the driver gives a trainer in its environment. */
export const trainerEnvironment = {
	/** Path of the socket; on Windows the name of the pipe. */
	socket: 'REASONING_LAB_TRAINER_SOCKET',
	token: 'REASONING_LAB_TRAINER_TOKEN',
	/** A folder for temporary files, which the driver removes. Missing where the driver does not see the trainer's disk. */
	scratch: 'REASONING_LAB_TRAINER_SCRATCH',
} as const;

/**
 * What `driver --run FOLDER --join [--resume] [--requests FOLDER]` prints as its one line on standard output when it
 * listens. Such a driver starts no trainer: one that somebody else has started (a worker of Ray, srun) comes to it. It ends
 * with its run, and, because its trainer's process is gone, when its standard input ends. `--resume` also begins a run that
 * has no run.json yet. `--requests`: a folder in which clients leave control requests as files (`src/engines/driver/ray/`).
 */
export const joinAnnouncementSchema = v.object({ socket: v.string(), token: v.string() });
export type JoinAnnouncement = v.InferOutput<typeof joinAnnouncementSchema>;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const scalars = v.record(v.string(), v.nullable(v.number()));
const unknownRecord = v.record(v.string(), v.unknown());

/** One problem as a trainer gets it: before any template. */
export const linkProblemSchema = v.object({
	/** Place in its split: stable over runs. */
	index: whole,
	prompt: v.string(),
	answer: v.unknown(),
	/** A worked solution; null: it has none. */
	solution: v.nullable(v.string()),
	row: unknownRecord,
});
export type LinkProblem = v.InferOutput<typeof linkProblemSchema>;

/** What the trainer has to begin with. */
export const assignmentSchema = v.object({
	mode: v.picklist(['train', 'serve']),
	run: v.object({ id: v.string(), name: v.string(), folder: v.string() }),
	/** The run's recipe.json, resolved; of `serve` the one of the checkpoint's run, or null. */
	recipe: v.nullable(unknownRecord),
	/** Columns of rewards in their order. `file`: the run's own copy, absolute; null: a built-in reward. */
	columns: v.array(v.object({ name: v.string(), weight: v.number(), file: v.nullable(v.string()) })),
	/** Where to continue; null: at the beginning of the recipe. */
	resume: v.nullable(
		v.object({
			/** Folder of the checkpoint, complete and checked. */
			checkpoint: v.string(),
			step: whole,
			stage: v.object({ index: whole, step: whole }),
			/** `trainer` of what `checkpoint` orders answered. */
			state: unknownRecord,
			/**
			 * Of the same run: everything continues bit for bit. false: a new run that branches off; its recipe may be another
			 * one, so what does not fit it any more (data order, the optimizer of other parameters) starts over. A checkpoint
			 * of the embedded engine comes with an empty `state`.
			 */
			sameRun: v.boolean(),
		}),
	),
	/** Of a recipe with new sizes in `model`: the vocabulary as a Hugging Face tokenizer.json, and the sizes. */
	newModel: v.nullable(
		v.object({
			tokenizer: v.string(),
			shape: v.object({
				vocabulary: whole,
				context: whole,
				width: whole,
				heads: whole,
				layers: whole,
				feedForward: whole,
			}),
		}),
	),
	/** Whether the driver has the problems (`data/problems`); else the trainer reads the recipe's dataset itself. */
	problems: v.boolean(),
});
export type Assignment = v.InferOutput<typeof assignmentSchema>;

/** What the driver wants at a gate. Each with an `id` is answered in the next `run/orders`. */
export const orderSchema = v.variant('do', [
	/** Continue training; ends the exchange. `hyperparameters`: those in force now. */
	v.object({ do: v.literal('continue'), hyperparameters: hyperparametersSchema }),
	/** Nothing yet (the run is paused): tell the other ranks, and ask again at once. */
	v.object({ do: v.literal('wait') }),
	/** The stage is over, by its steps or by what it measured; ends the exchange. */
	v.object({ do: v.literal('end-stage'), because: v.string() }),
	/** Train no more; ends the exchange. */
	v.object({ do: v.literal('stop') }),
	/** Write everything that a resume needs into `folder`, which is empty; flushed and sealed by the driver. */
	v.object({ do: v.literal('checkpoint'), id: whole, folder: v.string() }),
	/** Sample `samples` completions of each problem; consumes no randomness of training. */
	v.object({
		do: v.literal('evaluate'),
		id: whole,
		name: v.string(),
		problems: whole,
		samples: whole,
		temperature: v.number(),
		maxTokens: whole,
	}),
	/** As the control method `policy/generate` has them. */
	v.object({ do: v.literal('generate'), id: whole, params: unknownRecord }),
	v.object({ do: v.literal('score'), id: whole, params: unknownRecord }),
]);
export type Order = v.InferOutput<typeof orderSchema>;

const orders = v.object({ orders: v.array(orderSchema) });

/** Of `checkpoint`: what the driver keeps in state.json and gives back in `resume.state`. */
export const checkpointAnswerSchema = v.object({ state: unknownRecord });

/** Of `evaluate`. */
export const evaluateAnswerSchema = v.object({
	samples: v.array(
		v.object({
			problem: whole,
			sample: whole,
			prompt: v.string(),
			completion: v.string(),
			answer: v.unknown(),
			row: unknownRecord,
			truncated: v.boolean(),
		}),
	),
});

/** The answer to one order: its value, or why there is none. */
export const orderAnswerSchema = v.object({
	id: whole,
	value: v.optional(v.unknown()),
	error: v.optional(v.object({ reason: v.string(), message: v.string(), action: v.optional(v.string()) })),
});

/** A line of rollouts/step_N.jsonl; of its tokens there is only how many they are. */
const linkRolloutSchema = v.looseObject({ ...rolloutLineSchema.entries, tokens: v.optional(whole) });

/**
 * Rollouts of one training process. What is known of tokens is that of all of them, one after the other, as base64 of
 * little-endian numbers: as JSON it would take longer than all else that is told of a step.
 */
export const rolloutBlockSchema = v.object({
	lines: v.array(linkRolloutSchema),
	/** Where tokens are wanted. */
	tokens: v.optional(
		v.object({
			/** Their texts, each once. */
			pieces: v.array(v.string()),
			/** u32: places in `pieces`. */
			text: v.string(),
			/** f32; NaN where one is not known. */
			numbers: v.object({
				logprob: v.string(),
				oldLogprob: v.optional(v.string()),
				refLogprob: v.optional(v.string()),
				entropy: v.optional(v.string()),
			}),
		}),
	),
});
export type RolloutBlock = v.InferOutput<typeof rolloutBlockSchema>;
const rolloutBlocks = v.array(rolloutBlockSchema);

/** What a trainer tells without waiting for an answer. */
export const trainerLinkNotices = {
	/**
	 * All rollouts that the next update is the first to learn from, while that is computed; only of a single training
	 * process. `step` then comes without them.
	 */
	rollouts: v.object({
		/** Of the update, as `step` will tell it. */
		step: whole,
		rollouts: rolloutBlocks,
	}),
} as const;
export type TrainerLinkNotice = keyof typeof trainerLinkNotices;

const scoreRow = v.object({
	prompt: v.string(),
	completion: v.string(),
	answer: v.unknown(),
	row: unknownRecord,
	truncated: v.boolean(),
	completionIds: v.optional(v.array(v.number())),
	messages: v.optional(v.object({ prompt: v.array(v.unknown()), completion: v.array(v.unknown()) })),
});

/** Every request of a trainer. */
export const trainerLinkMethods = {
	/** The first one of the connection; anything else closes it. */
	begin: {
		params: v.object({
			protocol: v.number(),
			token: v.string(),
			pid: whole,
			/** Training processes, over all machines. */
			processes: whole,
			/** Of what is computed with and on: torch, trl, transformers, python, cuda. */
			versions: v.record(v.string(), v.string()),
			/** In words, for run.json: `cuda (2 x NVIDIA H200)`. */
			device: v.string(),
			/** Kind that the device queue knows. */
			kind: v.picklist(['cpu', 'cuda', 'mps']),
		}),
		result: assignmentSchema,
	},
	/**
	 * Problems `from` up to `from + count` of a split; `training` ones never run out where a task generates them, and may be
	 * fewer than asked for where they are large: the trainer asks for the rest when it needs them.
	 */
	'data/problems': {
		params: v.object({ split: v.picklist(['training', 'heldout']), from: whole, count: whole }),
		result: v.object({
			problems: v.array(linkProblemSchema),
			/** Of the split; null: without end. */
			total: v.nullable(whole),
		}),
	},
	/** A trainer that reads the data itself says what it read, before the first stage. */
	'data/opened': {
		params: v.object({
			hash: v.string(),
			training: whole,
			heldOut: whole,
			leftOut: whole,
			note: v.optional(v.string()),
		}),
		result: v.object({}),
	},
	/**
	 * Weights are there. The driver takes its turn in the device's queue: until `continue`, `wait` is answered as at a gate.
	 * A trainer that serves never gets `continue`: it does what clients want until `stop`.
	 */
	ready: {
		params: v.object({
			parameters: whole,
			trained: whole,
			context: whole,
			/** Steps of all stages, where the trainer knows better than the recipe. */
			totalSteps: v.optional(whole),
		}),
		result: orders,
	},
	/** A whole generation batch, of all ranks. */
	'rewards/score': {
		params: v.object({
			/** Updates done. */
			step: whole,
			rows: v.array(scoreRow),
			/** Columns that the trainer has computed itself, one value a row. */
			known: v.optional(v.record(v.string(), v.array(v.nullable(v.number())))),
		}),
		result: v.object({
			/**
			 * Where there are any, the batch is not scored, and `rows` is empty: a reward failed and the run is paused, or it
			 * ends. They are obeyed as at a gate, with all state as before this batch (what a checkpoint holds). After
			 * `continue` the same rows are sent again; `stop` gives them up.
			 */
			orders: v.array(orderSchema),
			rows: v.array(
				v.object({
					/** By column; null: does not apply, or failed. */
					rewards: v.record(v.string(), v.nullable(v.number())),
					errors: v.nullable(v.record(v.string(), v.string())),
					reward: v.nullable(v.number()),
				}),
			),
			/** Of `log_metric`, and how many rows each reward failed on. */
			metrics: scalars,
		}),
	},
	/** A stage begins, or continues after a resume, before its next update. `step`: updates of this stage that are done. */
	stage: {
		params: v.object({ index: whole, type: v.string(), step: whole }),
		result: orders,
	},
	/** One optimizer update has happened. */
	step: {
		params: v.object({
			/** Updates done, this one included. */
			step: whole,
			metrics: scalars,
			/** Rollouts that this update was the first to learn from, unless they were told before. */
			rollouts: v.optional(rolloutBlocks),
			/** The last update of its generation batch; only there a run is checkpointed, evaluated, paused or ended. */
			batchEnds: v.boolean(),
			/** Tokens trained on or sampled so far. */
			tokens: whole,
		}),
		result: orders,
	},
	/** What came of the orders before; answered with further ones. */
	'run/orders': {
		params: v.object({
			answers: v.array(orderAnswerSchema),
			/**
			 * The trainer cannot continue, but everything is as at the last gate: the driver may want a checkpoint of that step
			 * before the `fault`, and ends the exchange by `stop`.
			 */
			failing: v.optional(v.boolean()),
		}),
		result: orders,
	},
	alert: {
		params: v.object({ level: v.picklist(alertLevels), message: v.string() }),
		result: v.object({}),
	},
	/** Why it cannot continue; its last words. Where a checkpoint can still be written, it has asked for orders before. */
	fault: {
		params: v.object({
			reason: v.string(),
			message: v.string(),
			action: v.optional(v.string()),
			stack: v.optional(v.string()),
		}),
		result: v.object({}),
	},
	/** All stages are done. The driver's answer comes when the last files are written. */
	finished: { params: v.object({}), result: v.object({}) },
} as const;
export type TrainerLinkMethod = keyof typeof trainerLinkMethods;

/** state.json of a checkpoint of the pytorch and ray engines; `trainer` is the trainer's own. */
export const torchCheckpointStateSchema = v.looseObject({
	format: v.number(),
	engine: v.literal('pytorch'),
	run: v.object({ id: v.string(), name: v.string() }),
	step: whole,
	stage: v.object({ index: whole, step: whole }),
	tokens: whole,
	/** Generation batches that have told their rollouts. */
	generations: v.optional(whole, 0),
	hyperparameters: hyperparametersSchema,
	best: v.nullable(v.object({ step: whole, accuracy: v.number() })),
	evaluatedAt: v.nullable(whole),
	versions: v.record(v.string(), v.string()),
	trainer: unknownRecord,
	files: v.record(v.string(), v.object({ bytes: whole, sha256: v.string() })),
});
export type TorchCheckpointState = v.InferOutput<typeof torchCheckpointStateSchema>;
