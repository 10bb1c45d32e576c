# frozen_string_literal: true

module Skep
  # Matches the exceptions of a user's code that count as its failures, in a `rescue`: all but those
  # that are to end the process. So a SystemStackError, or a library's class of exceptions that is
  # not a StandardError, fails a batch or a hook like any other error.
  #
  #   rescue UserError => e
  #
  # | not matched | why |
  # |---|---|
  # | SystemExit | `exit` |
  # | SignalException, Interrupt | Ruby's own handling of a signal |
  # | NoMemoryError | the process can't continue |
  # | fatal | Ruby itself raises it, for one in a deadlock; no constant names its class |
  module UserError
    ENDING = [SystemExit, SignalException, NoMemoryError].freeze
    NAME = Module.instance_method(:name) # the user's class may have a method of that name
    private_constant :ENDING, :NAME

    def self.===(error)
      Exception === error && ENDING.none? { |one| one === error } &&
        NAME.bind_call(error.class) != "fatal"
    end
  end
  private_constant :UserError
end
