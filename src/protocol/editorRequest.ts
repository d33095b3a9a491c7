import * as v from 'valibot';

/*
 * Requests from the MCP server to the editor window that started it, as files: the server writes ID.request.json to the
 * window's folder, and the window answers with ID.answer.json.
 */

/** Environment variable with the folder for requests. Set by the editor for its own servers. */
export const editorVariable = 'REASONING_LAB_EDITOR';

/** Environment variable with the editor's URI scheme, such as `vscode`. Set by the editor for its own servers. */
export const linkSchemeVariable = 'REASONING_LAB_LINK_SCHEME';

export const requestEnding = '.request.json';
export const answerEnding = '.answer.json';
/** Request names: 32 hexadecimal digits. */
export const requestName = /^[0-9a-f]{32}$/;

export const editorRequestSchema = v.variant('show', [
	v.object({ show: v.literal('address'), address: v.pipe(v.string(), v.maxLength(4000)) }),
	/** Run folders, as absolute paths. */
	v.object({ show: v.literal('comparison'), folders: v.pipe(v.array(v.string()), v.minLength(2), v.maxLength(8)) }),
]);
export type EditorRequest = v.InferOutput<typeof editorRequestSchema>;

/** `failure`: why it was not shown; null if it was. */
export const editorAnswerSchema = v.object({ failure: v.nullable(v.string()) });
export type EditorAnswer = v.InferOutput<typeof editorAnswerSchema>;
