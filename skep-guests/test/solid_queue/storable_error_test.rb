# frozen_string_literal: true

require "test_helper"
require "json"
require "skep/guest"
Skep::SolidQueue ||= Class.new(Skep::Guest) # neither Solid Queue nor Rails is needed for it
require "skep/solid_queue/storable_error"

class StorableErrorTest < Skep::TestCase
  StorableError = Skep::SolidQueue::StorableError
  class Mute < StandardError
    def message = raise(NotImplementedError)
  end
  private_constant :StorableError, :Mute

  { RuntimeError.new("a\xFF") => "a\uFFFD",
    RuntimeError.new("a\xFF".b) => "a\uFFFD",
    RuntimeError.new("ö".encode(Encoding::UTF_16LE)) => "ö",
    RuntimeError.new("ö") => "ö",
    Mute.new => "its message raised NotImplementedError" }.each.with_index do |pair, number|
    test "an error can be stored as JSON, whatever its message is: #{number}" do
      error, text = pair
      StorableError.make(error)
      assert_equal [text], JSON.parse(JSON.generate([error.message]))
    end
  end

  test "leaves a frozen error as it is" do
    error = RuntimeError.new("a\xFF").freeze
    StorableError.make(error)
    assert_equal "a\xFF", error.message
  end
end
