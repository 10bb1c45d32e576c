# frozen_string_literal: true

require "skep/cli"
require "skep/cli/top"
require "skep/kafka"
require "skep/work"
require "support/doubles"
require "support/fakes"
require "kafka/support/fake_node"

class FakesTest < Skep::TestCase
  include Doubles

  Fakes::ALL.each do |one|
    test "#{one.fake} has only methods of #{one.real_name}, with the same parameters" do
      assert_stands_for one.fake, one.real, one.methods_to_check
    end
  end
end
