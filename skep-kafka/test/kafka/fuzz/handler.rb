# frozen_string_literal: true

require "kafka/fuzz/model"

module HandlerFuzz
  # One call of a program's handler: does with its batch, by public methods, what the program says,
  # and tells the model.
  class Handler
    attr_reader :batch, :fates
    attr_reader :visited # fates, in this call
    attr_accessor :lost # true: the partition has another owner
    attr_reader :marked # the same, in this call

    def initialize(run, batch, node)
      @run, @batch, @node = run, batch, node
      @model, @program = run.model, run.program
      # Not of the batch: skep sees if a handler uses its `messages`.
      @fates = batch.__attempt.slice.messages.map { |message| @model.fate(message) }
      @visited, @marked = [], []
    end

    def call
      @model.begin(self)
      visit_all
      @looped = true
      after_loop
      conclude
    ensure
      @model.end(self)
    end

    # Output couldn't be delivered: during a mark, or after the handler has returned. Nothing of
    # the batch is done then that wasn't marked.
    def output_failed(error)
      @before_return&.each { |fate, *state| fate.settled, fate.final = state }
      charged = unplaced? ? @fates : [@visiting]
      @model.raised(charged, error, unplaced: unplaced?)
    end

    private

    # Does an error that is raised now not tell its message? It doesn't leave a loop.
    def unplaced? = @looped || %i[whole external].include?(mode)
    def mode = @fates.first.item.mode

    def visit_all
      case mode
      when :whole then @batch.messages.each { |message| visit(message) == :leave and break }
      when :looked_before
        @batch.each { |message| produce(message) }
        loop_over
      when :nested
        loop_over { @batch.each { nil } }
      when :external then loop_outside
      else loop_over
      end
    end

    def loop_over
      last, left = nil
      @batch.each do |message|
        raise Broken, "a loop went on after the revocation" if last && told?

        last = message.offset
        yield if block_given?
        left = visit(message) == :leave
        break if left
      end
      ended_after(last) unless left
    end

    # Knows skep of the revocation since the last message? All is yielded if all is marked.
    def told? = @revoked && !@marked.include?(@fates.last)

    # An enumerator has a fiber of its own.
    def loop_outside
      all = @batch.each
      last, left = nil
      loop do
        message = all.next
        raise Broken, "a loop went on after the revocation" if last && told?

        last = message.offset
        left = visit(message) == :leave
        break if left
      end
      ended_after(last) unless left
    end

    # The loop may have ended before the last message: the partition is revoked.
    def ended_after(last)
      @ended = last || (@batch.first_offset - 1) unless last == @batch.last_offset
      raise Broken, "a loop ended early" if @ended && !@batch.revoked?
    end

    # What the handler of a batch does at its end is in the script of its last message.
    def after_loop
      fate = @fates.last
      name, what = @run.next_step(fate, :ending)
      case name
      when :mark then mark(what) unless @program.database?
      when :raise then fail_at(fate, what)
      when :pause then request(:pause)
      end
    end

    def visit(message)
      fate = @model.fate(message)
      @visiting = fate
      @model.visit(self, fate)
      produce(message) unless mode == :looked_before
      fail_at(fate, :Repeated) if @run.noise?
      name, what = @run.next_step(fate, :script)
      act(fate, name, what, message) unless @program.database? && name == :seek
    ensure
      @revoked = @batch.revoked?
    end

    def act(fate, name, what, message)
      case name
      when :mark then mark(message.offset)
      when :mark_any then mark(what)
      when :raise then fail_at(fate, what)
      when :mark_raise then mark_and_fail(fate, message.offset, what)
      when :mark_all_raise then mark_and_fail(fate, @batch.last_offset, what)
      when :mark_first_raise then mark_and_fail(fate, @batch.first_offset, what)
      when :pause, :seek then request(name, what)
      when :mark_pause
        mark(message.offset)
        request(:pause)
      when :pause_raise
        @batch.pause(1)
        fail_at(fate, what)
      when :break then :leave
      when :exit then raise SystemExit
      when :revoke then revoke
      when :switch then @run.switch
      end
    end

    def produce(message)
      return @run.table.write(message.payload) if @program.database?

      @node.producer.produce("out", message.payload) if @program.output?
    end

    def fail_at(fate, kind)
      error = Errors.of(kind, fate)
      @model.raised(unplaced? ? @fates : [fate], error, unplaced: unplaced?)
      raise error
    end

    def mark_and_fail(fate, offset, kind)
      mark(offset)
      fail_at(fate, kind)
    end

    # Messages that are marked may be committed while `mark` still runs. Once the loop has ended
    # early, only messages that it has yielded can be marked.
    def mark(offset)
      return if @program.database?

      # (A transaction has the output of all messages so far.)
      lowest = @program.transactional? ? produced_last : @batch.first_offset
      offset = offset.clamp(lowest, @batch.last_offset)
      some = @fates.select { |fate| fate.item.offset <= [offset, *@ended].min }
      before = some.map(&:settled)
      some.each { |fate| fate.settled = true }
      marked = @batch.mark(offset)
      marked || @batch.revoked? or raise Broken, "a mark was refused"
      return undo(some, before) if !marked && @ended && seen_beyond_end?

      @marked |= some
      @model.done(some) unless lost
    rescue Skep::Kafka::OutputFailed
      undo(some, before)
      raise
    end

    # The transaction has output of messages that the next owner processes.
    def seen_beyond_end? = @program.transactional? && %i[looked_before nested].include?(mode)
    def undo(some, before) = some.zip(before) { |fate, value| fate.settled = value }

    def produced_last
      mode == :looked_before ? @batch.last_offset : @visiting.item.offset
    end

    def request(name, place = nil)
      case name
      when :pause then @batch.pause(1)
      when :seek then @batch.seek(place.is_a?(Float) ? Time.at(place) : place)
      end
      @request = name
      :leave
    end

    def revoke = @run.revoke(@batch.topic, @batch.partition)

    def conclude
      @model.seeking(@batch.partition) if @request == :seek
      return if @request

      seen = @fates.select { |fate| @ended.nil? || fate.item.offset <= @ended }
      @before_return = seen.map { |fate| [fate, fate.settled, fate.final] }
      lost || @ended ? seen.each { |fate| fate.settled = true } : @model.done(seen)
    end
  end
end
