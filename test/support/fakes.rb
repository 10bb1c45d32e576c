# frozen_string_literal: true

require "test_helper"

# Fakes of skep's objects, for tests of the code that uses them. Each names the real class:
# fakes_test checks that this class has the fake's methods, with the same parameters.
#
#   Fakes.stands_for(FlushedClient, "Skep::Kafka::Librdkafka::ProducerClient",
#                    controls: %i[flushes])
#
# controls: methods of the fake that only tests call.
module Fakes
  Fake = Struct.new(:fake, :real_name, :controls) do
    # Returns the class that it stands for, a private one too.
    def real = real_name.split("::").reduce(Object) { |scope, name| scope.const_get(name) }

    # Returns the methods that the real class must have.
    def methods_to_check
      writers = fake.respond_to?(:members) ? fake.members.map { |name| :"#{name}=" } : []
      fake.public_instance_methods(false) - controls - (writers - real.public_instance_methods)
    end
  end
  ALL = []

  def self.stands_for(fake, real_name, controls: [])
    ALL << Fake.new(fake, real_name, controls)
    fake
  end
end

require "support/fakes/kafka"
require "support/fakes/scheduler"
require "support/fakes/top"
require "support/fakes/work"
