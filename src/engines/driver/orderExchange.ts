import type * as v from 'valibot';
import { type Deferred, deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Order, orderAnswerSchema } from '../../protocol/trainerLink.ts';

export type OrderAnswer = v.InferOutput<typeof orderAnswerSchema>;

/** An order that expects a reply and has not been assigned an ID yet. */
export type Wish = Order extends infer O ? (O extends { readonly id: number } ? Omit<O, 'id'> : never) : never;
/** An order that ends an exchange. */
export type Ending = Extract<Order, { readonly do: 'continue' | 'end-stage' | 'stop' }>;

interface Orders {
	readonly orders: Order[];
}

/** Keep-alive interval for a waiting trainer, in milliseconds. */
const defaultWaitMs = 30_000;

/**
 * Exchanges orders from the driver and replies from its trainer. The trainer polls (`open`) and receives the next order
 * as the response. Its next poll carries the result. Between orders, keep-alive responses keep it waiting.
 */
export class OrderExchange {
	readonly #waitMs: number;
	/** Pending poll from the trainer. */
	#question: Deferred<Orders> | null = null;
	/** Orders for the next response. */
	#next: Order[] = [];
	readonly #given = new Map<number, Deferred<unknown>>();
	/** IDs of orders sent to the trainer that have not been answered. */
	#announced: readonly number[] = [];
	#lastId = 0;
	#timer: NodeJS.Timeout | null = null;
	#closed: Failure | null = null;

	constructor(waitMs = defaultWaitMs) {
		this.#waitMs = waitMs;
	}

	/** Handles a poll: records the results of the previous orders and returns the next ones. */
	open(answers: readonly OrderAnswer[]): Promise<Orders> {
		if (this.#closed) return Promise.reject(this.#closed);
		if (this.#question)
			return Promise.reject(new Failure('invalid', 'The trainer requested orders while another request was pending.'));
		this.#take(answers);
		if (this.#next.length > 0) return Promise.resolve(this.#answer());
		const question = deferred<Orders>();
		this.#question = question;
		this.#timer = setTimeout(() => this.#send([{ do: 'wait' }]), this.#waitMs);
		return question.promise;
	}

	/** Sends an order. Resolves with its result, or rejects with its failure. */
	give(wish: Wish): Promise<unknown> {
		if (this.#closed) return Promise.reject(this.#closed);
		const id = ++this.#lastId;
		const done = deferred<unknown>();
		this.#given.set(id, done);
		this.#queue({ ...wish, id } as Order);
		return done.promise;
	}

	/** Ends an exchange. */
	end(order: Ending): void {
		if (!this.#closed) this.#queue(order);
	}

	/** Rejects all pending orders and polls with the reason. */
	close(reason: Failure): void {
		if (this.#closed) return;
		this.#closed = reason;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#question?.reject(reason);
		this.#question = null;
		for (const done of this.#given.values()) done.reject(reason);
		this.#given.clear();
	}

	#queue(order: Order): void {
		this.#next.push(order);
		if (this.#question) this.#send(null);
	}

	#send(orders: Order[] | null): void {
		const question = this.#question;
		this.#question = null;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		question?.resolve(orders === null ? this.#answer() : { orders });
	}

	#answer(): Orders {
		const orders = this.#next.splice(0);
		this.#announced = orders.flatMap((order) => ('id' in order ? [order.id] : []));
		return { orders };
	}

	#take(answers: readonly OrderAnswer[]): void {
		for (const { id, value, error } of answers) {
			const done = this.#given.get(id);
			if (done === undefined) continue;
			this.#given.delete(id);
			if (error === undefined) done.resolve(value);
			else done.reject(Failure.of(error));
		}
		for (const id of this.#announced) {
			this.#given.get(id)?.reject(new Failure('internal', 'The trainer did not answer an order.'));
			this.#given.delete(id);
		}
		this.#announced = [];
	}
}
