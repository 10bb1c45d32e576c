# frozen_string_literal: true

# Checks that an object which replaces another in tests has its methods, with the same parameters;
# included in a test's class.
module Doubles
  private

  def assert_stands_for(double, real, names = own_methods(real))
    refute_empty names
    assert_empty names - double.public_instance_methods
    assert_equal(names.to_h { |name| [name, kinds(real.instance_method(name))] },
                 names.to_h { |name| [name, kinds(double.instance_method(name))] })
  end

  # The public methods that a class defines itself, or in its fallback or its C.
  def own_methods(real)
    owners = real.ancestors.take_while { |owner| owner != Object }
    owners.flat_map { |owner| owner.public_instance_methods(false) }.uniq - %i[inspect]
  end

  # How many arguments a method takes, and which keywords.
  def kinds(method)
    method.parameters.map { |kind, name| kind.start_with?("key") ? [kind, name] : kind }
          .reject { |kind| kind == :block }
  end
end
