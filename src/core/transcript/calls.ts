import type { CallLink, MessagePlace, ToolCall, Transcript, TranscriptMessage } from './transcript.ts';

/** Tool call with its context. */
export interface MadeCall {
	readonly call: ToolCall;
	readonly message: TranscriptMessage;
	readonly link: CallLink;
	readonly place: MessagePlace;
	readonly results: readonly TranscriptMessage[];
}

/** Returns all calls in a transcript, in order. */
export function madeCalls({ messages, links }: Transcript): MadeCall[] {
	return links.map((link) => {
		const message = messages[link.message] as TranscriptMessage;
		return {
			call: message.calls[link.call] as ToolCall,
			message,
			link,
			place: { message: link.message, call: link.call },
			results: link.results.map((index) => messages[index] as TranscriptMessage),
		};
	});
}

/** Matches text that starts like an error, for formats without an error field. */
const errorOpening =
	/^\s*(?:(?:\w+\.)*\w*(?:Error|Exception)\b\s*[:(]|Traceback \(most recent|\{\s*(?:"error"|'error')\s*:(?!\s*(?:null|None|false|False|""|'')))/;

/** Returns whether the text of a result starts like an error. */
export function opensLikeError(text: string): boolean {
	return errorOpening.test(text.slice(0, 400));
}

/** Returns whether a tool message reports a failed call. */
export function isFailure(message: TranscriptMessage): boolean {
	if (message.result === null) return false;
	return message.result.failed ?? opensLikeError(message.text);
}

export function didFail(made: MadeCall): boolean {
	return made.results.some(isFailure);
}
