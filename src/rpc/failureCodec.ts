import { ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';
import { Failure, type FailureData } from '../base/failure.ts';
import { decode } from '../protocol/decode.ts';
import { failureDataSchema } from '../protocol/failureData.ts';

/** JSON-RPC code of every error that carries a reason; codes from -32000 on up are an application's own. */
const failureCode = -31000;

/** Any thrown value as the error of a response: `data` is {reason, message, action?}. */
export function toResponseError(error: unknown): ResponseError<FailureData> {
	const failure = Failure.from(error);
	return new ResponseError(failureCode, failure.message, failure.toJSON());
}

/** The error of a response, or of a broken connection, as a Failure. */
export function fromResponseError(error: unknown, doing: string): Failure {
	if (error instanceof Failure) return error;
	if (error instanceof ResponseError) {
		const decoded = decode(failureDataSchema, error.data);
		if (decoded.ok) return new Failure(decoded.value.reason, decoded.value.message, decoded.value.action);
		if (error.code === ErrorCodes.MethodNotFound) {
			return new Failure('unsupported', `${doing}: the engine does not know this request.`, 'Update Reasoning Lab.');
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
