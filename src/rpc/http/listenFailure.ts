import { Failure } from '../../base/failure.ts';

/** Converts a `server.listen` error to a failure: `busy` if the port is in use, `denied` if it is not permitted. */
export function listenFailure(error: NodeJS.ErrnoException, port: number): Failure {
	switch (error.code) {
		case 'EADDRINUSE':
			return new Failure('busy', `Port ${port} is in use.`, 'Choose a different port, or use --port 0 for a free one.');
		case 'EACCES':
			return new Failure('denied', `Permission denied for port ${port}.`, 'Choose a port above 1023, or use --port 0.');
		default:
			return Failure.from(error, `Cannot listen on port ${port}`);
	}
}
