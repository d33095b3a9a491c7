import { ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';
import { Failure, type FailureData } from '../base/failure.ts';
import { decode } from '../protocol/decode.ts';
import { failureDataSchema } from '../protocol/failureData.ts';

/** JSON-RPC code for all errors that have a reason. Codes above -32000 are available to applications. */
const failureCode = -31000;

/** Converts any thrown value to a response error whose `data` is {@link FailureData}. */
export function toResponseError(error: unknown): ResponseError<FailureData> {
	const failure = Failure.from(error);
	return new ResponseError(failureCode, failure.message, failure.toJSON());
}

/** Converts a response error or a connection error to a Failure. */
export function fromResponseError(error: unknown, doing: string): Failure {
	if (error instanceof Failure) return error;
	if (error instanceof ResponseError) {
		const decoded = decode(failureDataSchema, error.data);
		if (decoded.ok) return Failure.of(decoded.value);
		if (error.code === ErrorCodes.MethodNotFound) {
			return new Failure('unsupported', `${doing}: the engine does not support this request.`, 'Update Reasoning Lab.');
		}
	}
	const text = error instanceof Error ? error.message : String(error);
	return new Failure(
		'unavailable',
		`${doing}: ${text}`,
		'The engine may have exited; see engine.log in the run folder.',
		{
			cause: error,
		},
	);
}
