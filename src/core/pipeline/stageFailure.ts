import { Failure, type Reason } from '../../base/failure.ts';

/** A failure whose message names the pipeline stage where it happened. */
export class StageFailure extends Failure {
	readonly stage: string;

	/** @param message must name the stage */
	constructor(stage: string, reason: Reason, message: string, action?: string, options?: { cause?: unknown }) {
		super(reason, message, action, options);
		this.stage = stage;
	}

	/**
	 * Returns a failure that names the stage: the error itself if it already does, otherwise a copy.
	 * @param what start of the copy's message, such as `The stage "warm" failed`; absent if the message names the stage
	 */
	static naming(stage: string, error: unknown, what?: string): StageFailure {
		if (error instanceof StageFailure && error.stage === stage) return error;
		const { reason, message, action } = Failure.from(error);
		const whole = what === undefined ? message : `${what}: ${message}`;
		return new StageFailure(stage, reason, whole, action, { cause: error });
	}
}
