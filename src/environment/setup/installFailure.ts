import { Failure, type Reason } from '../../base/failure.ts';

interface Explanation {
	readonly pattern: RegExp;
	readonly reason: Reason;
	/** Message template; `$1` is replaced by the first capture group. */
	readonly message: string;
	readonly action: string;
}

const again = 'Run setup again. The installer keeps completed downloads.';

/** Known installer error messages, most specific first. */
const explanations: readonly Explanation[] = [
	{
		pattern:
			/No space left on device|os error 28|Errno 28\b|Disk quota exceeded|ENOSPC|There is not enough space on the disk/,
		reason: 'full',
		message: 'The disk is full.',
		action: 'Free up disk space, or choose another folder in reasoningLab.pytorch.folder, then run setup again.',
	},
	{
		pattern: /CERTIFICATE_VERIFY_FAILED|invalid peer certificate|UnknownIssuer|self.signed certificate/i,
		reason: 'unavailable',
		message: "The package index's certificate is not trusted.",
		action: "Set the environment variables PIP_CERT and SSL_CERT_FILE to your network's certificate.",
	},
	{
		pattern:
			/\b(?:401 (?:Client )?(?:Error|Unauthorized)|403 (?:Client )?(?:Error|Forbidden)|User for .*: *$|status code 40[13])/m,
		reason: 'denied',
		message: 'The package index requires a user name and password.',
		action: 'Add them to the index URL or to ~/.netrc.',
	},
	{
		pattern: /THESE PACKAGES DO NOT MATCH THE HASHES|Hash mismatch/i,
		reason: 'corrupt',
		message: 'A download does not match the hash from the package index.',
		action: 'Run setup again. If the error persists, something is modifying your downloads.',
	},
	{
		pattern:
			/(?:Wheel '([\w.-]+)' located at \S+ is invalid|has an invalid wheel|Failed to extract archive|unexpected end of file|IncompleteRead|IncompleteDownload|incomplete-download|Download failed due to not receiving|error decoding response body|invalid package format|Failed to read from zip file|BadZipFile|File is not a zip file|Invalid zip file|Failed to (?:read|unpack) .*\.whl|stream closed)/i,
		reason: 'corrupt',
		message: 'A download was interrupted or damaged.',
		action: again,
	},
	{
		pattern:
			/Temporary failure in name resolution|Name or service not known|getaddrinfo failed|failed to lookup address|dns error|nodename nor servname|NewConnectionError|Connection refused|Network is unreachable|Max retries exceeded|ConnectTimeoutError|ReadTimeoutError|error sending request|Failed to fetch|ProxyError|tunnel/i,
		reason: 'unavailable',
		message: 'The package index is unreachable.',
		action:
			'Check the network and the proxy (HTTPS_PROXY), or set reasoningLab.pytorch.indexUrl to a mirror. Then run setup again.',
	},
	{
		pattern: /satisfies the requirement ([^\s;(]+)[^\n]*\(from versions: none\)/,
		reason: 'unavailable',
		message: 'The package index does not list $1.',
		action:
			'Check the index URL, the network, and the proxy (HTTPS_PROXY). Some indexes hide packages that require a login.',
	},
	{
		pattern:
			/(?:No matching distribution found for|Could not find a version that satisfies the requirement) ([^\s;(]+)/,
		reason: 'unsupported',
		message: 'The package index does not have $1 for this Python version and system.',
		action: 'Choose another Python version (3.12 has the most builds) or another package index.',
	},
	{
		pattern: /No solution found when resolving dependencies[^\n]*\n\s*(?:cause: )?([^\n]{0,300}?)\.?\n/,
		reason: 'unsupported',
		message: 'The packages have conflicting requirements ($1).',
		action: 'Choose another Python version (3.12 has the most builds) or another package index.',
	},
	{
		pattern: /ResolutionImpossible|conflicting dependencies/,
		reason: 'unsupported',
		message: 'The packages in the index have conflicting requirements.',
		action: 'Choose another Python version (3.12 has the most builds) or another package index.',
	},
	{
		pattern: /(?:Failed building wheel for|Failed to build:?) `?([\w.-]+)|subprocess-exited-with-error/,
		reason: 'unsupported',
		message: 'A package ($1) has no prebuilt wheel for this Python version and system, and building it failed.',
		action: 'Choose another Python version; 3.12 has the most builds.',
	},
	{
		pattern: /ensurepip is not\s+available|No module named '?(?:ensurepip|venv)/,
		reason: 'missing',
		message: 'This Python installation cannot create virtual environments: its venv or ensurepip module is missing.',
		action: "Install uv, or your system's python3-venv package (sudo apt install python3-venv).",
	},
	{
		pattern: /no such option|unrecognized arguments?|unexpected argument '([^']+)'|invalid value '/,
		reason: 'invalid',
		message: 'The installer rejected an argument.',
		action: 'Check the setting reasoningLab.pytorch.pipArguments.',
	},
	{
		pattern: /Permission denied|Access is denied|Errno 13\b|os error 13\b/,
		reason: 'denied',
		message: 'Cannot write a file in the environment or the installer cache.',
		action: 'Choose another folder in reasoningLab.pytorch.folder.',
	},
];

/** Converts a failed setup command and its output to a Failure. @param doing "Installing torch" */
export function explainFailure(
	doing: string,
	lines: readonly string[],
	how: { readonly code: number | null; readonly signal: string | null },
): Failure {
	const text = `${lines.join('\n')}\n`;
	for (const { pattern, reason, message, action } of explanations) {
		const match = pattern.exec(text);
		if (match === null) continue;
		const said = message.replace(' ($1)', match[1] ? ` (${match[1]})` : '').replace('$1', match[1] ?? '');
		return new Failure(reason, `${doing} failed: ${lowerFirst(said)}`, action);
	}
	if (how.code === null) {
		return new Failure(
			'internal',
			`${doing} failed: the process was killed by ${how.signal}.`,
			how.signal === 'SIGKILL' ? 'The machine may have run out of memory. Run setup again.' : 'Run setup again.',
		);
	}
	const last = [...lines].reverse();
	const words = (last.find((line) => /\berror\b/i.test(line)) ?? last.find((line) => line.trim() !== '') ?? '').trim();
	return new Failure(
		'internal',
		`${doing} failed with status ${how.code}${words === '' ? '' : `: ${words.slice(0, 300)}`}`.replace(/[.]?$/, '.'),
		'See the log for details.',
	);
}

function lowerFirst(text: string): string {
	return text.charAt(0).toLowerCase() + text.slice(1);
}
