import * as v from 'valibot';
import { alertLevels } from './alert.ts';
import { hyperparametersSchema } from './control.ts';
import { environmentDescriptionSchema } from './environmentHost.ts';
import { episodeErrorSchema } from './episode.ts';
import { failureDataSchema } from './failureData.ts';
import { rolloutEpisodeSchema } from './rolloutEpisode.ts';
import { messageSchema, rolloutLineSchema } from './rolloutLine.ts';
import { pictureFileSchema } from './rolloutPicture.ts';

/**
 * Protocol between a driver (the engine's process, which owns the run directory, the control endpoint and the rewards)
 * and a trainer (the program that performs the computation, and owns no files except its caches and the checkpoint
 * folders it is asked to fill).
 *
 * JSON-RPC 2.0 with Content-Length framing over a local socket. Only the trainer sends requests. The driver responds
 * once the requested action has been performed (although data for an update may not have reached the disk yet). The
 * trainer therefore needs no listener thread, and anything the driver wants (a checkpoint, an evaluation, completions
 * for a client) is included in its responses as orders. If there are several training processes, only rank 0
 * communicates.
 */
export const trainerLinkVersion = 1;

/** Environment variables that the driver sets for a trainer. */
export const trainerEnvironment = {
	/** Path of the socket, or the pipe name on Windows. */
	socket: 'REASONING_LAB_TRAINER_SOCKET',
	token: 'REASONING_LAB_TRAINER_TOKEN',
	/** Folder for temporary files, which the driver deletes. Not set if the driver cannot access the trainer's disk. */
	scratch: 'REASONING_LAB_TRAINER_SCRATCH',
} as const;

/**
 * The single line that `driver --run FOLDER --join [--resume] [--requests FOLDER]` prints to standard output once it is
 * listening. With `--join`, the driver does not start a trainer; it waits for one started elsewhere (by a Ray worker or
 * srun) to connect. It exits when its run ends, or when its standard input closes, because that means that the
 * trainer's process is gone. `--resume` also starts a run that has no run.json yet. `--requests` is a folder where
 * clients leave control requests as files (`src/engines/driver/ray/`).
 */
export const joinAnnouncementSchema = v.object({ socket: v.string(), token: v.string() });
export type JoinAnnouncement = v.InferOutput<typeof joinAnnouncementSchema>;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const scalars = v.record(v.string(), v.nullable(v.number()));
const unknownRecord = v.record(v.string(), v.unknown());
const instance = {
	instance: whole,
	/** Training process that the instance belongs to. Default 0. */
	process: v.optional(whole),
};

/** One problem as sent to a trainer, before any template is applied. */
export const linkProblemSchema = v.object({
	/** Index within the split, stable across runs. */
	index: whole,
	prompt: v.string(),
	answer: v.unknown(),
	/** Worked solution; null if there is none. */
	solution: v.nullable(v.string()),
	row: unknownRecord,
});
export type LinkProblem = v.InferOutput<typeof linkProblemSchema>;

/** Everything the trainer needs to start. */
export const assignmentSchema = v.object({
	mode: v.picklist(['train', 'serve']),
	run: v.object({ id: v.string(), name: v.string(), folder: v.string() }),
	/** The run's recipe.json, resolved. For `serve`, the recipe of the checkpoint's run, or null. */
	recipe: v.nullable(unknownRecord),
	/** Reward columns in order. `file`: absolute path of the run's own copy; null for a built-in reward. */
	columns: v.array(v.object({ name: v.string(), weight: v.number(), file: v.nullable(v.string()) })),
	/** Where to resume; null to start from the beginning of the recipe. */
	resume: v.nullable(
		v.object({
			/** Checkpoint folder, complete and verified. */
			checkpoint: v.string(),
			step: whole,
			stage: v.object({ index: whole, step: whole }),
			/** `trainer` state from the answer to the `checkpoint` order. */
			state: unknownRecord,
			/**
			 * Whether the checkpoint is from the same run, so that everything continues bit for bit. If false, this is a new
			 * run that branches off. Its recipe can differ, and anything that no longer fits (data order, optimizer state for
			 * other parameters) starts over. A checkpoint from the embedded engine has an empty `state`.
			 */
			sameRun: v.boolean(),
		}),
	),
	/**
	 * For a recipe with new dimensions in `model`: the vocabulary as a Hugging Face tokenizer.json, and the dimensions.
	 */
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
	/**
	 * Whether the driver provides the problems (`data/problems`). If not, the trainer reads the recipe's dataset itself.
	 */
	problems: v.boolean(),
});

/** An order from the driver at a gate. Orders with an `id` are answered in the next `run/orders`. */
export const orderSchema = v.variant('do', [
	/** Continue training; ends the exchange. `hyperparameters`: the current values. */
	v.object({ do: v.literal('continue'), hyperparameters: hyperparametersSchema }),
	/** Do nothing for now (the run is paused): notify the other ranks, and ask again immediately. */
	v.object({ do: v.literal('wait') }),
	/** The stage is finished, after its last step or because of a metric; ends the exchange. */
	v.object({ do: v.literal('end-stage'), because: v.string() }),
	/** Stop training; ends the exchange. */
	v.object({ do: v.literal('stop') }),
	/** Write everything needed to resume into `folder`, which is empty; the driver flushes and seals it. */
	v.object({ do: v.literal('checkpoint'), id: whole, folder: v.string() }),
	/** Sample `samples` completions per problem without consuming training randomness. */
	v.object({
		do: v.literal('evaluate'),
		id: whole,
		name: v.string(),
		problems: whole,
		samples: whole,
		temperature: v.number(),
		maxTokens: whole,
	}),
	/** Parameters as in the control method `policy/generate`. */
	v.object({ do: v.literal('generate'), id: whole, params: unknownRecord }),
	v.object({ do: v.literal('score'), id: whole, params: unknownRecord }),
]);
export type Order = v.InferOutput<typeof orderSchema>;

const orders = v.object({ orders: v.array(orderSchema) });

/** Answer to `checkpoint`: state that the driver stores in state.json and passes back in `resume.state`. */
export const checkpointAnswerSchema = v.object({ state: unknownRecord });

/** Answer to `evaluate`. */
export const evaluateAnswerSchema = v.object({
	samples: v.array(
		v.object({
			problem: whole,
			sample: whole,
			prompt: v.string(),
			completion: v.union([v.string(), v.array(messageSchema)]),
			answer: v.unknown(),
			row: unknownRecord,
			truncated: v.boolean(),
			/** In a recipe with an environment: the conversation, its episode, and the environment's reward. */
			messages: v.exactOptional(v.object({ prompt: v.array(messageSchema), completion: v.array(messageSchema) })),
			episode: v.exactOptional(rolloutEpisodeSchema),
			reward: v.exactOptional(v.nullable(v.number())),
		}),
	),
});
export type EvaluateAnswer = v.InferOutput<typeof evaluateAnswerSchema>;

/** Answer to one order: its value, or the reason it failed. */
export const orderAnswerSchema = v.object({
	id: whole,
	value: v.optional(v.unknown()),
	error: v.optional(failureDataSchema),
});

/** A line of rollouts/step_N.jsonl with the number of tokens in place of the tokens. */
const linkRolloutSchema = v.looseObject({ ...rolloutLineSchema.entries, tokens: v.optional(whole) });

/**
 * Rollouts from one training process. Token data for all rollouts is concatenated and sent as base64-encoded
 * little-endian numbers: encoding it as JSON would take longer than all other data for a step.
 */
export const rolloutBlockSchema = v.object({
	lines: v.array(linkRolloutSchema),
	/** Present if tokens are logged. */
	tokens: v.optional(
		v.object({
			/** Distinct token strings. */
			pieces: v.array(v.string()),
			/** u32 indices into `pieces`. */
			text: v.string(),
			/** f32; NaN if unknown. */
			numbers: v.object({
				logprob: v.string(),
				oldLogprob: v.optional(v.string()),
				refLogprob: v.optional(v.string()),
				entropy: v.optional(v.string()),
				/** Present if the weights that sampled can be older than the policy: updates of the run before them. */
				version: v.optional(v.string()),
				/** Present if tokens have their own advantages. */
				advantage: v.optional(v.string()),
			}),
		}),
	),
	/** Pictures that the lines refer to, encoded as base64. Each is sent once. */
	pictures: v.optional(v.array(v.object({ file: pictureFileSchema, content: v.string() }))),
});
export type RolloutBlock = v.InferOutput<typeof rolloutBlockSchema>;
const rolloutBlocks = v.array(rolloutBlockSchema);

/** Notifications from a trainer, which get no response. */
export const trainerLinkNotices = {
	/**
	 * All rollouts that the next update is the first to learn from, sent while that update is computed. Only used with a
	 * single training process; `step` then omits them.
	 */
	rollouts: v.object({
		/** Step of the update, as `step` will report it. */
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

/** All requests that a trainer can send. */
export const trainerLinkMethods = {
	/** Must be the first request on the connection; any other request closes it. */
	begin: {
		params: v.object({
			protocol: v.number(),
			token: v.string(),
			pid: whole,
			/** Number of training processes on all machines. */
			processes: whole,
			/** Versions of the software in use: torch, trl, transformers, python, cuda. */
			versions: v.record(v.string(), v.string()),
			/** Description for run.json: `cuda (2 x NVIDIA H200)`. */
			device: v.string(),
			/** Device type known to the device queue. */
			kind: v.picklist(['cpu', 'cuda', 'mps']),
		}),
		result: assignmentSchema,
	},
	/**
	 * Returns problems `from` up to `from + count` from a split. `training` problems are unlimited if a task generates
	 * them. Large problems can make the response shorter than requested; the trainer then requests the rest as needed.
	 */
	'data/problems': {
		params: v.object({ split: v.picklist(['training', 'heldout']), from: whole, count: whole }),
		result: v.object({
			problems: v.array(linkProblemSchema),
			/** Size of the split; null if unlimited. */
			total: v.nullable(whole),
		}),
	},
	/** Sent before the first stage by a trainer that reads the data itself, to report what it read. */
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
	 * Reports that the weights are loaded. The driver enters the device queue and, until it sends `continue`, answers
	 * `wait` as at a gate. A serving trainer never receives `continue`: it handles client requests until `stop`.
	 */
	ready: {
		params: v.object({
			parameters: whole,
			trained: whole,
			context: whole,
			/** Total steps over all stages, if the trainer's count is more accurate than the recipe's. */
			totalSteps: v.optional(whole),
		}),
		result: orders,
	},
	/** Scores a whole generation batch, from all ranks. */
	'rewards/score': {
		params: v.object({
			/** Number of completed updates. */
			step: whole,
			rows: v.array(scoreRow),
			/** Columns that the trainer computed itself, one value per row. */
			known: v.optional(v.record(v.string(), v.array(v.nullable(v.number())))),
		}),
		result: v.object({
			/**
			 * If not empty, the batch was not scored and `rows` is empty: a reward failed and the run is paused, or the run
			 * is ending. The trainer follows these orders as at a gate, with all state as it was before this batch (and as in
			 * a checkpoint). After `continue` it sends the same rows again; on `stop` it discards them.
			 */
			orders: v.array(orderSchema),
			rows: v.array(
				v.object({
					/** Rewards by column; null if the reward does not apply or failed. */
					rewards: v.record(v.string(), v.nullable(v.number())),
					errors: v.nullable(v.record(v.string(), v.string())),
					reward: v.nullable(v.number()),
				}),
			),
			/** Metrics from `log_metric`, and the number of rows each reward failed on. */
			metrics: scalars,
		}),
	},
	/** Returns the recipe's environment, which the driver runs in a separate process. */
	'environment/describe': {
		params: v.object({}),
		result: v.object({ environment: environmentDescriptionSchema }),
	},
	/** Starts an episode in an instance, which is created on first use. If `error` is set, the episode is over. */
	'environment/reset': {
		params: v.object({ ...instance, row: unknownRecord }),
		result: v.object({
			observation: v.optional(v.nullable(v.string())),
			/** State to record in the rollout; absent if none is recorded. */
			state: v.optional(unknownRecord),
			error: v.optional(episodeErrorSchema),
		}),
	},
	/** Calls a tool. A call that fails has `failed` and the exception's `message`; the episode continues. */
	'environment/call': {
		params: v.object({ ...instance, name: v.string(), arguments: v.unknown() }),
		result: v.object({
			content: v.optional(v.string()),
			failed: v.optional(v.boolean()),
			message: v.optional(v.string()),
			done: v.optional(v.nullable(v.boolean())),
			/** What the call added to its turn's reward; absent if it added nothing. */
			reward: v.optional(v.number()),
			/** State to record in the rollout; absent if none is recorded. */
			state: v.optional(unknownRecord),
			error: v.optional(episodeErrorSchema),
		}),
	},
	/** Returns an episode's reward; null if it does not apply. */
	'environment/reward': {
		params: v.object({
			...instance,
			/** The completion. Environments from other libraries can score its text. */
			messages: v.optional(v.array(unknownRecord)),
		}),
		result: v.object({ value: v.optional(v.nullable(v.number())), error: v.optional(episodeErrorSchema) }),
	},
	/**
	 * Reports that more episodes in a batch failed than the recipe tolerates. The driver pauses the run and answers with
	 * orders, which the trainer follows as at a gate, with its state as it was before this batch. After `continue`, it
	 * plays the same batch again.
	 */
	'environment/failed': {
		params: v.object({
			failed: whole,
			rows: whole,
			/** Row of the first episode that failed, and why. */
			index: whole,
			error: episodeErrorSchema,
		}),
		result: orders,
	},
	/**
	 * A stage starts, or continues after a resume, before its next update. `step`: number of completed updates in this
	 * stage.
	 */
	stage: {
		params: v.object({ index: whole, type: v.string(), step: whole }),
		result: orders,
	},
	/** Reports one optimizer update. */
	step: {
		params: v.object({
			/** Number of completed updates, including this one. */
			step: whole,
			metrics: scalars,
			/** Rollouts that this update was the first to learn from, unless they were sent earlier. */
			rollouts: v.optional(rolloutBlocks),
			/**
			 * Whether this is the last update of its generation batch, the only point where a run can checkpoint, evaluate,
			 * pause or end.
			 */
			batchEnds: v.boolean(),
			/** Number of tokens trained on or sampled so far. */
			tokens: whole,
		}),
		result: orders,
	},
	/** Sends the answers to the previous orders; the response contains further orders. */
	'run/orders': {
		params: v.object({
			answers: v.array(orderAnswerSchema),
			/**
			 * Set if the trainer cannot continue, although all state is unchanged since the last gate. The driver can
			 * request a checkpoint of that step before the `fault`, and ends the exchange with `stop`.
			 */
			failing: v.optional(v.boolean()),
		}),
		result: orders,
	},
	alert: {
		params: v.object({ level: v.picklist(alertLevels), message: v.string() }),
		result: v.object({}),
	},
	/**
	 * Reports why the trainer cannot continue. This is the trainer's last message. If a checkpoint is still possible, it
	 * requests orders first.
	 */
	fault: {
		params: v.object({ ...failureDataSchema.entries, stack: v.optional(v.string()) }),
		result: v.object({}),
	},
	/** All stages are finished. The driver responds once the last files are written. */
	finished: { params: v.object({}), result: v.object({}) },
} as const;
export type TrainerLinkMethod = keyof typeof trainerLinkMethods;

/** state.json in checkpoints of the pytorch and ray engines; `trainer` is the trainer's own state. */
export const torchCheckpointStateSchema = v.looseObject({
	format: v.number(),
	engine: v.literal('pytorch'),
	run: v.object({ id: v.string(), name: v.string() }),
	step: whole,
	stage: v.object({ index: whole, step: whole }),
	tokens: whole,
	/** Number of generation batches whose rollouts have been reported. */
	generations: v.optional(whole, 0),
	hyperparameters: hyperparametersSchema,
	best: v.nullable(v.object({ step: whole, accuracy: v.number() })),
	evaluatedAt: v.nullable(whole),
	versions: v.record(v.string(), v.string()),
	trainer: unknownRecord,
	files: v.record(v.string(), v.object({ bytes: whole, sha256: v.string() })),
});
export type TorchCheckpointState = v.InferOutput<typeof torchCheckpointStateSchema>;
